//! Test support for this and other crates: the flavor group, commitment and slots of the worked examples.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::commitment::{ResourceType, Spec, State};
use crate::flavor::{Flavor, FlavorGroup, Ratio, RatioMembers};
use crate::host::{Capabilities, ConditionStatus, Host};
use crate::quantity::Quantity;
use crate::slot::Slot;
use crate::units::{Bytes, Cores, Resources};

/// The prefix of the names of the slots of [`spec`].
pub const PREFIX: &str = "commitment-uuid-1-";

/// The time this many seconds after 2026-03-01T12:00:00Z, or before it.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_772_366_400 + seconds).unwrap_or_default()
}

pub fn gib(gib: u64) -> Bytes {
    Bytes::from_mib(gib * 1024)
}

/// An empty host in service in zone `az`, of type `ch`.
pub fn host(name: &str, capacity: Resources) -> Host {
    Host {
        name: name.into(),
        zone: "az".into(),
        capacity: capacity.into(),
        effective_capacity: capacity.into(),
        allocation: Resources::ZERO.into(),
        conditions: BTreeMap::from([("Ready".to_owned(), ConditionStatus::True)]),
        capabilities: Capabilities { hypervisor_type: "ch".to_owned(), ..Capabilities::default() },
        ..Host::default()
    }
}

/// The flavor group `amber`: 60, 30 and 12 GiB.
pub fn amber() -> FlavorGroup {
    let flavor = |name: &str, memory: u64, vcpus| Flavor {
        name: name.into(),
        vcpus,
        memory_mib: memory * 1024,
        disk_gib: 0,
        extra_specs: BTreeMap::new(),
    };
    FlavorGroup {
        name: "amber".into(),
        flavors: vec![flavor("amber_xl", 60, 15), flavor("amber_l", 30, 10), flavor("amber_s", 12, 4)],
        without_memory: Vec::new(),
        ratio: Ratio::Variable(3072, 4096),
        ratio_members: RatioMembers { ratio: None, min: Some(3072), max: Some(4096) },
    }
}

/// A confirmed memory commitment of this much `amber` in `az-a`.
pub fn spec(amount: &str) -> Spec {
    Spec {
        uuid: "uuid-1".into(),
        group: "amber".into(),
        resource: ResourceType::Memory,
        amount: Quantity::parse(amount).unwrap_or_default(),
        zone: "az-a".into(),
        project: "project".into(),
        domain: "domain".into(),
        start: None,
        end: None,
        state: State::Confirmed,
        allow_rejection: false,
    }
}

/// A slot of that commitment, in the notation `#number size@host[vms]` with sizes in GiB and cores, and `-` for no
/// host. With a host it is ready.
pub fn slot(number: u64, flavor: &str, size: (u64, i64), host: &str, vms: &[(&str, u64)]) -> Slot {
    let host = (host != "-").then(|| host.into());
    let vm = |(vm, size): &(&str, u64)| ((*vm).into(), Resources::new(gib(*size), Cores::new(1)));
    Slot {
        name: format!("{PREFIX}{number}").into(),
        commitment: "uuid-1".into(),
        project: "project".into(),
        domain: "domain".into(),
        group: "amber".into(),
        zone: "az-a".into(),
        flavor: flavor.into(),
        size: Resources::new(gib(size.0), Cores::new(size.1)),
        ready: host.is_some().then(|| (ConditionStatus::True, "ReservationActive".to_owned())),
        status_host: host.clone(),
        target_host: host,
        expected: vms.iter().map(vm).collect(),
        start: None,
        end: None,
        parent_generation: 1,
        observed_parent_generation: 1,
        labelled: true,
        waiting: false,
        terminating: false,
    }
}
