//! Small clouds, and requests for them.

use std::collections::BTreeMap;

use berth_core::flavor::Flavor;
use berth_core::reservation::{Reservation, ReservationKind};
pub use berth_core::testing::host;
use berth_core::{Bytes, ClusterName, Cores, Resources, SlotKey};
use berth_scheduler::{Hints, Intent, Options, Request, SlotRequest, WaitingRank};

pub const PIPELINE: &str = "kvm-general-purpose-load-balancing";

pub fn gib(cpu: i64, gib: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

pub fn flavor(vcpus: u32, memory_gib: u64) -> Flavor {
    let specs = [("capabilities:hypervisor_type", "CH"), ("quota:hw_version", "g1")];
    let extra_specs = specs.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Flavor { name: "f".into(), vcpus, memory_mib: memory_gib * 1024, disk_gib: 0, extra_specs }
}

pub fn key(name: &str) -> SlotKey {
    SlotKey::new(ClusterName::home(), name)
}

/// A slot of project p1 in zone `az`.
pub fn wanted(name: &str, size: Resources) -> SlotRequest {
    SlotRequest {
        key: key(name),
        rank: WaitingRank { created_unix: 1, commitment: "c".into(), number: 0 },
        project: "p1".into(),
        zone: "az".into(),
        flavor: flavor(1, 1),
        size,
        vms: [].into(),
        domain_name: None,
        pipeline: PIPELINE.to_owned(),
        prefer: None,
        request_id: "req".to_owned(),
    }
}

/// The object of a slot on a host, as it is written.
pub fn written(slot: &SlotRequest, host: &str) -> Reservation {
    Reservation {
        key: slot.key.clone(),
        kind: ReservationKind::Committed(BTreeMap::new()),
        project: slot.project.clone(),
        group: "g1".into(),
        zone: slot.zone.clone(),
        size: slot.size,
        target_host: Some(host.into()),
        status_host: None,
        ready: false,
    }
}

/// The same slot when it is ready.
pub fn in_force(slot: &SlotRequest, host: &str) -> Reservation {
    Reservation { status_host: Some(host.into()), ready: true, ..written(slot, host) }
}

pub fn probe(flavor: Flavor) -> Request {
    Request {
        project: "cortex-capacity-probe".into(),
        hints: Hints::for_intent(Intent::CapacityProbe),
        pipeline: PIPELINE.to_owned(),
        options: Options::read_only(),
        ..Request::new("capacity-f", flavor)
    }
}
