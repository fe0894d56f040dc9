//! Cycles of the capacity controller: every scheduler leads to the same numbers.

use std::sync::Arc;
use std::time::Duration;

use berth_capacity::{CapacityController, CapacityMetrics, Context, Settings};
use berth_cluster::indexes::{CAPACITY_INDEXES, COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES};
use berth_cluster::testing::filled;
use berth_cluster::{FlavorGroupsCache, Routes, Writer};
use berth_core::ClusterName;
use berth_core::host::Host;
use berth_core::liquid::units::RamUnit;
use berth_crds::Knowledge;
use berth_crds::facts::place_capacity;
use berth_scheduler_api::Chosen;
use berth_telemetry::clock::{Clock, SystemClock};
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Server, seeds};
use berth_vm_source::VmSource;
use serde_json::json;

use crate::cloud::{PIPELINE, gib, host, in_force, wanted};
use crate::fixture::Fixture;

fn controller(scheduler: &Chosen) -> CapacityController<Chosen> {
    let (clock, home): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), ClusterName::home());
    let capacities = filled(CAPACITY_INDEXES, &home, []);
    let metrics = Metrics::new(&[].into()).unwrap();
    let hour = Duration::from_secs(3600);
    CapacityController::new(Context {
        capacities: Writer::new(capacities.clone(), Server::new(clock.clone()).cluster()),
        commitments: filled(COMMITMENT_INDEXES, &home, []),
        hypervisors: filled(HYPERVISOR_INDEXES, &home, []),
        reservations: filled(RESERVATION_INDEXES, &home, []),
        pipelines: filled(&[], &home, []),
        flavor_groups: FlavorGroupsCache::new(filled(&[], &home, [flavor_groups(&clock)])),
        vms: VmSource::none(),
        routes: Routes::home_only(),
        scheduler: Arc::new(scheduler.clone()),
        unit_of: Arc::new(|_| RamUnit::default()),
        clock: clock.clone(),
        ids: FreshIds::counted(),
        metrics: CapacityMetrics::register(&metrics, &capacities, (clock, hour)).unwrap(),
        settings: Settings {
            interval: hour,
            least_interval: hour,
            total_pipeline: PIPELINE.to_owned(),
            placeable_pipeline: PIPELINE.to_owned(),
        },
    })
}

/// A group with two flavors, and one that no host can take.
fn flavor_groups(clock: &Arc<dyn Clock>) -> Knowledge {
    let flavor = |name: &str, vcpus: u32, gib: u32, kind: &str| json!({ "name": name, "vcpus": vcpus, "memoryMB": gib * 1024, "extraSpecs": { "capabilities:hypervisor_type": kind } });
    let features = json!([
        { "name": "g1", "flavors": [flavor("large", 4, 32, "CH"), flavor("small", 1, 8, "CH")] },
        { "name": "g2", "flavors": [flavor("other", 1, 8, "QEMU")] },
    ]);
    seeds::knowledge(&features, clock.now())
}

/// A host with VMs, one with a slot, one of another zone, and one that is too small.
pub async fn every_scheduler_leads_to_the_same_capacity<F: Fixture>() {
    let host = |name: &str, size| Host { cluster: ClusterName::home(), ..host(name, size) };
    let used = Host { allocation: gib(5, 40).into(), ..host("used", gib(8, 64)) };
    let elsewhere = Host { zone: "other".into(), ..host("elsewhere", gib(4, 32)) };
    let fixture = F::with(&[used, host("held", gib(4, 32)), host("small", gib(8, 4)), elsewhere]).await;
    fixture.shows(&in_force(&wanted("s", gib(2, 16)), "held"));
    let plan = controller(fixture.scheduler()).dry_run().await.unwrap();
    let shown = |name: &str, zone: &str| {
        let of_place =
            |spec: &berth_crds::FlavorGroupCapacitySpec| spec.flavor_group == name && spec.availability_zone == zone;
        let object = &plan.writes.iter().find(|write| of_place(&write.object.spec)).unwrap().object;
        let (status, found) = (object.status.clone().unwrap(), place_capacity(object).unwrap());
        let flavors = status.flavors.iter().map(|flavor| {
            let total = (flavor.total_capacity_vm_slots, flavor.total_capacity_hosts);
            (flavor.flavor_name.clone(), total, (flavor.placeable_vms, flavor.placeable_hosts))
        });
        (flavors.collect::<Vec<_>>(), found.reserved.resources, found.free_slots)
    };
    let of = |name: &str, total, placeable| (name.to_owned(), total, placeable);
    let (flavors, reserved, free) = shown("g1", "az");
    assert_eq!(flavors, [of("large", (3, 2), (0, 0)), of("small", (12, 2), (5, 2))]);
    assert_eq!((reserved, free), (gib(2, 16), 5));
    let (flavors, _, free) = shown("g1", "other");
    assert_eq!((flavors, free), (vec![of("large", (1, 1), (1, 1)), of("small", (4, 1), (4, 1))], 4));
    assert_eq!(shown("g2", "az"), (vec![of("other", (0, 0), (0, 0))], gib(0, 0), 0));
    fixture.assumes_nothing();
}
