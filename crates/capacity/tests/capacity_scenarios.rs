//! The scenarios of capacity, each without a fault, with a process that ends before and after every write, and with seeds for
//! faults of the API server. Slots are written by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod run;

use std::time::Duration;

use berth_capacity::Error;
use berth_core::capacity::Occupied;
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::capacity::CapacityParts;
use berth_core::liquid::names::ResourceKind;
use berth_core::liquid::units::RamUnit;
use berth_crds::conditions::capacity;
use berth_crds::facts::place_capacity;
use berth_crds::{Hypervisor, Reservation, testing};
use berth_testkit::{scenarios, seeds};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use crate::run::{Away, HOUR, MINUTE, NODE1, NODE2, OTHER_GROUP, Run, TwoClusters, free_slots, gp_features};

scenarios! { Run, all:
    host_comes host_goes sell_and_use groups_share_hosts probe_fails table_away cluster_away group_gone zone_gone unit_changed
}

mod all {
    use super::*;

    pub fn host_comes(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 0, 10]);
            run.server.create(&seeds::host("node3", 5)).unwrap();
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 0, 15]);
            run.assert_parts(seeds::OTHER_ZONE, [0, 0, 4]);
            let status = run.status(testing::ZONE);
            assert_eq!((status.flavors[0].total_capacity_vm_slots, status.flavors[0].placeable_hosts), (15, 2));
            assert_eq!(status.total_capacity["cores"].as_str(), "450");
        }
        .boxed()
    }

    pub fn host_goes(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.server.create(&seeds::host("node3", 5)).unwrap();
            run.disturb();
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 0, 15]);
            run.server.delete::<Hypervisor>(NODE1).unwrap();
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 0, 5]);
        }
        .boxed()
    }

    /// Only the parts change; the sum is what the host has.
    pub fn sell_and_use(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            run.settle().await;
            run.hold_slot(NODE1);
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 1, 9]);
            run.assert_sums(testing::ZONE, 10);
            run.start_vm("vm-1", testing::FLAVOR);
            run.run_on(NODE1, &["vm-1"], 1);
            run.put_into_slot("vm-1", NODE1, ("480Gi", "30"));
            run.publish();
            run.settle().await;
            run.assert_parts(testing::ZONE, [1, 0, 9]);
            run.assert_sums(testing::ZONE, 10);
            run.server.delete::<Reservation>(&seeds::slot_name("uuid-1", 0)).unwrap();
            run.settle().await;
            run.assert_parts(testing::ZONE, [1, 0, 9]);
            run.rows.clear();
            run.run_on(NODE1, &[], 0);
            run.publish();
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 0, 10]);
            run.assert_sums(testing::ZONE, 10);
        }
        .boxed()
    }

    /// Ten slots of 480 GiB, or twenty of the other group: both get some, and together not more than there is.
    pub fn groups_share_hosts(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            run.settle().await;
            run.set_groups(true);
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 0, 7]);
            let other = run.capacity(OTHER_GROUP, testing::ZONE).unwrap().status.unwrap();
            assert_eq!(other.exclusively_free_slots, Some(6));
            assert_eq!(other.free_capacity["cores"].as_str(), "300", "before the split");
        }
        .boxed()
    }

    pub fn probe_fails(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            run.settle().await;
            run.answer_probes(false);
            run.server.create(&seeds::host("node3", 5)).unwrap();
            run.settle().await;
            run.assert_parts(testing::ZONE, [0, 0, 10]);
            assert_eq!(run.condition(testing::ZONE), (false, capacity::MAY_BE_STALE.to_owned()));
            run.answer_probes(true);
            run.wait(6 * MINUTE).await;
            run.assert_parts(testing::ZONE, [0, 0, 15]);
            assert!(run.condition(testing::ZONE).0);
        }
        .boxed()
    }

    /// What runs stays as it was for as long as it takes, and what is free does not.
    pub fn table_away(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.start_vm("vm-1", testing::FLAVOR);
            run.run_on(NODE1, &["vm-1"], 1);
            run.publish();
            run.disturb();
            run.settle().await;
            run.assert_parts(testing::ZONE, [1, 0, 9]);
            run.process.vms.report_failure("connection refused");
            run.is_table_away = true;
            run.wait(3 * HOUR).await;
            run.run_on(NODE1, &[], 0);
            run.wait(3 * HOUR).await;
            run.assert_parts(testing::ZONE, [1, 0, 10]);
            let (status, message) = run.condition(testing::ZONE);
            assert!(status);
            assert!(message.starts_with("capacity data is up-to-date, except for the running VMs: "), "{message}");
            run.rows.clear();
            run.is_table_away = false;
            run.publish();
            run.wait(6 * MINUTE).await;
            run.assert_parts(testing::ZONE, [0, 0, 10]);
            assert_eq!(run.condition(testing::ZONE), (true, capacity::UP_TO_DATE.to_owned()));
        }
        .boxed()
    }

    pub fn cluster_away(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            run.settle().await;
            for away in [Away::Hosts, Away::Reservations] {
                run.set_away(away);
                run.wait(6 * MINUTE).await;
                let (is_ready, message) = run.condition(testing::ZONE);
                assert!(!is_ready, "{away:?}");
                assert!(message.starts_with("the zone cannot be read: "), "{away:?}: {message}");
                run.assert_parts(testing::ZONE, [0, 0, 10]);
                run.set_away(Away::Nothing);
                run.wait(6 * MINUTE).await;
                assert!(run.condition(testing::ZONE).0, "{away:?}");
            }
        }
        .boxed()
    }

    pub fn group_gone(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.set_groups(true);
            run.disturb();
            run.settle().await;
            assert!(run.capacity(OTHER_GROUP, testing::ZONE).is_some());
            run.set_groups(false);
            run.wait(12 * MINUTE).await;
            assert!(run.capacity(OTHER_GROUP, testing::ZONE).is_none());
            run.assert_parts(testing::ZONE, [0, 0, 10]);
        }
        .boxed()
    }

    pub fn zone_gone(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.disturb();
            run.settle().await;
            run.assert_parts(seeds::OTHER_ZONE, [0, 0, 4]);
            run.server.delete::<Hypervisor>(NODE2).unwrap();
            run.wait(12 * MINUTE).await;
            assert!(run.capacity(testing::GROUP, seeds::OTHER_ZONE).is_none());
            run.assert_parts(testing::ZONE, [0, 0, 10]);
        }
        .boxed()
    }

    pub fn unit_changed(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.start_vm("vm-1", testing::FLAVOR);
            run.run_on(NODE1, &["vm-1"], 1);
            run.hold_slot(NODE1);
            run.publish();
            run.disturb();
            run.settle().await;
            let units = |run: &Run| {
                let status = run.status(testing::ZONE);
                (status.running_units, status.reserved_units)
            };
            assert_eq!(units(run), (Some(2), Some(2)), "480 GiB in units of 240 GiB");
            run.set_unit(480);
            run.wait(6 * MINUTE).await;
            assert_eq!(units(run), (Some(1), Some(1)));
        }
        .boxed()
    }
}

/// The first absence may be that of a moment, so the object is deleted after the second one.
#[tokio::test(start_paused = true)]
async fn a_capacity_is_deleted_in_the_second_cycle_without_its_zone() {
    let mut run = Run::calm();
    run.settle().await;
    run.server.delete::<Hypervisor>(NODE2).unwrap();
    run.settle().await;
    assert!(run.capacity(testing::GROUP, seeds::OTHER_ZONE).is_some());
    run.wait(6 * MINUTE).await;
    assert!(run.capacity(testing::GROUP, seeds::OTHER_ZONE).is_none());
}

/// The other zones are written, and the cycle is tried again.
#[tokio::test(start_paused = true)]
async fn a_write_in_doubt_in_a_cluster_that_is_away_stops_only_that_object() {
    let scene = TwoClusters::new();
    scene.cycle().await.unwrap();
    let free = || [free_slots(&scene.home, testing::ZONE), free_slots(&scene.remote, seeds::OTHER_ZONE)];
    assert_eq!(free(), [Some(10); 2]);
    scene.lose_remote();
    scene.set_hosts(12);
    let error = scene.cycle().await.unwrap_err();
    assert!(matches!(error, Error::InDoubt { skipped: 1 }), "{error}");
    assert_eq!(free(), [Some(12), Some(10)]);
}

/// Changes that come faster are counted together, also after a failure.
#[tokio::test(start_paused = true)]
async fn cycles_begin_at_most_every_least_interval() {
    let mut run = Run::calm();
    run.settle().await;
    for number in 0..60 {
        run.server.create(&seeds::host(&format!("extra{number}"), 1)).unwrap();
        run.wait(Duration::from_secs(1)).await;
    }
    let cycles = run.cycles();
    assert!((2..=4).contains(&cycles), "{cycles}");
    run.answer_probes(false);
    run.wait(Duration::from_secs(60)).await;
    run.assert_parts(testing::ZONE, [0, 0, 70]);
}

#[tokio::test(start_paused = true)]
async fn a_capacity_that_was_deleted_or_changed_by_hand_is_written_again() {
    let mut run = Run::calm();
    run.settle().await;
    run.delete_capacity(testing::ZONE);
    run.settle().await;
    run.assert_parts(testing::ZONE, [0, 0, 10]);
    run.edit_capacity(testing::ZONE, &json!({ "status": { "exclusivelyFreeSlots": 99 } }));
    run.wait(6 * MINUTE).await;
    run.assert_parts(testing::ZONE, [0, 0, 10]);
}

#[tokio::test(start_paused = true)]
async fn the_metrics_show_what_the_objects_say() {
    let mut run = Run::calm();
    run.start_vm("vm-1", testing::FLAVOR);
    run.run_on(NODE1, &["vm-1"], 1);
    run.publish();
    run.settle().await;
    let of_group = format!(r#"{{az="{}",flavor_group="{}""#, testing::ZONE, testing::GROUP);
    let of_flavor = format!(r#"{of_group},flavor_name="{}"}}"#, testing::FLAVOR);
    for (name, labels, value) in [
        ("capacity_vm_slots_empty_datacenter", &of_flavor, "10"),
        ("capacity_vm_slots_placeable", &of_flavor, "9"),
        ("capacity_hosts_empty_datacenter", &of_flavor, "1"),
        ("capacity_hosts_placeable", &of_flavor, "1"),
        ("running_instances", &of_flavor, "1"),
        ("free_capacity_gib", &of_flavor, "4320"),
        ("exclusively_free_capacity_gib", &of_flavor, "4320"),
        ("exclusively_free_slots", &of_flavor, "9"),
        ("committed_gib", &format!("{of_group}}}"), "0"),
        ("committed_reservations", &format!("{of_group}}}"), "0"),
        ("capacity_ready", &format!("{of_group}}}"), "1"),
    ] {
        let line = format!("cortex_committed_resource_{name}{labels} {value}");
        assert!(run.metrics().lines().any(|one| one == line), "{line}\n{}", run.metrics());
    }
    run.answer_probes(false);
    run.wait(6 * MINUTE).await;
    assert!(run.metrics().contains(&format!("cortex_committed_resource_capacity_ready{of_group}}} 0")));
    let failed = r#"berth_capacity_probe_failures_total{pipeline="kvm-general-purpose-load-balancing"} "#;
    assert!(run.metrics().contains(failed), "{}", run.metrics());
}

/// The example of `docs/numbers.md`.
#[tokio::test(start_paused = true)]
async fn the_example_of_the_documentation() {
    let mut run = Run::documented();
    run.settle().await;
    let object = run.capacity("gp_v1", testing::ZONE).unwrap();
    let parts = |found: Occupied| (found.units, found.resources.cpu.get(), found.instances);
    let found = place_capacity(&object).unwrap();
    assert_eq!(parts(found.running), (24, 6, 2));
    assert_eq!(parts(found.reserved), (16, 4, 2));
    assert_eq!((found.free_slots, found.free.cpu.get()), (11, 22));
    let status = object.status.unwrap();
    assert_eq!(status.committed_capacity, Some(4), "32 GiB in slots of 8176 MiB");
    let gp = FlavorGroups::parse(&gp_features()).unwrap().groups.get(&"gp_v1".into()).unwrap().clone();
    let capacity = |kind| CapacityParts::of(&found, kind, (gp.ratio, RamUnit::default())).total();
    assert_eq!([ResourceKind::Ram, ResourceKind::Cores, ResourceKind::Instances].map(capacity), [128, 32, 15]);
}
