//! Manual changes to slots, and how the operator repairs them. Runs the real binary on a real API server.

use berth_crds::{Reservation, ReservationType, labels, testing};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::support::objects::{OTHER_ZONE, host, in_zone, non_rejectable, slot_name, slots};
use crate::support::seen::{Seen, in_force_on, slot_ready};
use crate::support::waiting::so;
use crate::support::world::World;

/// A slot that has lost a host which was not valid for it is placed again after one second.
async fn retrying_soon() -> World {
    let mut world = World::without_operator().await;
    world.use_keys(&json!({ "committedResourceReservationController": { "requeueIntervalRetry": "1s" } }));
    world.start().await;
    world
}

/// A commitment with one slot on `node1`, which has free capacity for another one, and a manual change to the slot.
async fn edited(uuid: &str, change: Value) -> (World, Seen) {
    let world = retrying_soon().await;
    world.create(&host("node1", 2)).await;
    world.create(&non_rejectable(uuid, 1)).await;
    world.accepted(uuid).await;
    let before = world.rest().await;
    world.edit::<Reservation>(&slot_name(uuid, 0), change).await;
    (world, before)
}

/// Waits until the slot has been written after the manual change and passes `checker`.
async fn repaired(world: &World, uuid: &str, checker: impl Fn(&Reservation) -> bool) {
    let name = slot_name(uuid, 0);
    world
        .until("the slot is repaired", |seen| {
            let slot = seen.slot(&name).ok_or("it is not there")?;
            so(checker(slot), || "it is not".to_owned())
        })
        .await;
    world.accepted(uuid).await;
}

async fn is_back_on_node1(world: &World, uuid: &str, cause: &str) {
    let metric = "berth_slots_revoked_total";
    repaired(world, uuid, |slot| slot.spec.target_host.as_deref() == Some("node1")).await;
    let metrics = world.operator().metrics().await;
    assert_eq!(crate::support::http::sum(&metrics, metric, &[cause]), 1, "{}", world.report().await);
}

#[tokio::test]
async fn a_target_that_is_no_host_is_taken_away() {
    let (world, _) = edited("nowhere-1", json!({ "spec": { "targetHost": "nowhere" } })).await;
    is_back_on_node1(&world, "nowhere-1", "no_such_host").await;
    world.end().await;
}

#[tokio::test]
async fn a_target_in_another_zone_is_taken_away() {
    let (world, _) = edited("zone-1", json!({ "metadata": { "labels": { "test": "prepared" } } })).await;
    world.create(&in_zone(host("node2", 2), OTHER_ZONE)).await;
    world.rest().await;
    world.edit_slot(&slot_name("zone-1", 0), json!({ "targetHost": "node2" })).await;
    is_back_on_node1(&world, "zone-1", "wrong_zone").await;
    world.end().await;
}

#[tokio::test]
async fn a_target_without_capacity_is_taken_away() {
    let world = retrying_soon().await;
    world.create(&host("node2", 1)).await;
    world.create(&non_rejectable("holder-1", 1)).await;
    world.accepted("holder-1").await;
    world.create(&host("node1", 1)).await;
    world.create(&non_rejectable("moved-1", 1)).await;
    world.accepted("moved-1").await;
    let before = world.rest().await;
    world.edit_slot(&slot_name("moved-1", 0), json!({ "targetHost": "node2" })).await;
    is_back_on_node1(&world, "moved-1", "overbooked").await;
    let holder = slot_name("holder-1", 0);
    let version = |seen: &Seen| seen.slot(&holder).unwrap().resource_version();
    assert_eq!(version(&world.rest().await), version(&before), "the older slot is unchanged");
    world.end().await;
}

#[tokio::test]
async fn a_target_that_is_good_is_kept() {
    let (world, _) = edited("good-1", json!({ "metadata": { "labels": { "test": "prepared" } } })).await;
    world.create(&host("node2", 1)).await;
    world.rest().await;
    world.edit_slot(&slot_name("good-1", 0), json!({ "targetHost": "node2" })).await;
    repaired(&world, "good-1", |slot| in_force_on(slot) == Some("node2")).await;
    assert_eq!(world.rest().await.hosts_of("good-1"), ["node2"]);
    world.end().await;
}

#[tokio::test]
async fn a_target_that_was_cleared_is_found_anew() {
    let (world, _) = edited("cleared-1", json!({ "spec": { "targetHost": null } })).await;
    is_back_on_node1(&world, "cleared-1", "cleared").await;
    world.end().await;
}

#[tokio::test]
async fn cores_that_were_lowered_are_repaired() {
    let (world, _) = edited("cores-1", json!({ "spec": { "resources": { "cpu": "1" } } })).await;
    repaired(&world, "cores-1", |slot| slot.spec.resources["cpu"].as_str() == "30").await;
    world.end().await;
}

/// Cores that become free through a manual change go to a waiting commitment; they are not promised twice.
#[tokio::test]
async fn cores_that_were_lowered_on_a_full_host_are_not_sold_twice() {
    let mut full = host("node1", 2);
    let status = full.status.as_mut().unwrap();
    status.effective_capacity.insert("memory".to_owned(), slots(4).into());
    status.capacity.insert("memory".to_owned(), slots(4).into());
    let world = World::with_hosts(&[full]).await;
    for uuid in ["cores-a", "cores-b"] {
        world.create(&non_rejectable(uuid, 1)).await;
        world.accepted(uuid).await;
    }
    world.create(&non_rejectable("cores-c", 1)).await;
    world.reported("cores-c", "Reserving", "insufficient capacity: 0/1").await;
    world.rest().await;
    world.edit_slot(&slot_name("cores-a", 0), json!({ "resources": { "cpu": "0" } })).await;
    world.rest().await;
    assert_eq!(crate::support::invariants::broken_always(&world.now().await), [""; 0]);
    world.create(&host("node2", 1)).await;
    for uuid in ["cores-a", "cores-b", "cores-c"] {
        world.accepted(uuid).await;
    }
    world.end().await;
}

#[tokio::test]
async fn a_slot_with_a_vm_that_was_pointed_elsewhere_keeps_its_host_and_its_vm() {
    let (world, _) = edited("pointed-1", json!({ "metadata": { "labels": { "test": "prepared" } } })).await;
    world.create(&in_zone(host("node2", 2), OTHER_ZONE)).await;
    world.start_vm(&slot_name("pointed-1", 0), "vm-1", 120).await;
    world.rest().await;
    world.edit_slot(&slot_name("pointed-1", 0), json!({ "targetHost": "node2" })).await;
    let keeps = |slot: &Reservation| {
        let data = slot.spec.committed_resource_reservation.as_ref();
        slot.spec.target_host.as_deref() == Some("node1")
            && data.is_some_and(|data| data.allocations.contains_key("vm-1"))
    };
    repaired(&world, "pointed-1", keeps).await;
    world.end().await;
}

#[tokio::test]
async fn memory_that_was_raised_on_a_full_host_is_cut_back() {
    let (world, _) = edited("raised-1", json!({ "metadata": { "labels": { "test": "prepared" } } })).await;
    world.create(&non_rejectable("other-1", 1)).await;
    world.accepted("other-1").await;
    world.rest().await;
    world.edit_slot(&slot_name("raised-1", 0), json!({ "resources": { "memory": "960Gi" } })).await;
    repaired(&world, "raised-1", |slot| slot.spec.resources["memory"].as_str() == "480Gi").await;
    world.end().await;
}

#[tokio::test]
async fn memory_that_was_lowered_is_restored() {
    let (world, _) = edited("lowered-1", json!({ "spec": { "resources": { "memory": "100Gi" } } })).await;
    repaired(&world, "lowered-1", |slot| slot.spec.resources["memory"].as_str() == "480Gi").await;
    world.end().await;
}

#[tokio::test]
async fn a_label_that_was_removed_is_restored() {
    let (world, _) = edited("label-1", json!({ "metadata": { "labels": { labels::TYPE: null } } })).await;
    repaired(&world, "label-1", |slot| slot.labels().contains_key(labels::TYPE)).await;
    world.end().await;
}

#[tokio::test]
async fn a_status_that_was_edited_is_restored() {
    let (world, _) = edited("status-1", json!({ "metadata": { "labels": { "test": "prepared" } } })).await;
    world.rest().await;
    let by_hand = json!([{ "type": "Ready", "status": "False", "reason": "ByHand", "message": "somebody says so",
                           "lastTransitionTime": "2026-03-01T08:00:00Z" }]);
    let name = slot_name("status-1", 0);
    let is_ready = |slot: &Reservation| slot_ready(slot).is_some_and(|ready| ready.reason == "ReservationActive");
    world.edit_status::<Reservation>(&name, json!({ "status": { "conditions": by_hand } })).await;
    repaired(&world, "status-1", is_ready).await;
    world.rest().await;
    world.edit_status::<Reservation>(&name, json!({ "status": { "host": "nowhere" } })).await;
    repaired(&world, "status-1", |slot| in_force_on(slot) == Some("node1")).await;
    world.edit_status::<Reservation>(&name, json!({ "status": null })).await;
    repaired(&world, "status-1", is_ready).await;
    world.end().await;
}

#[tokio::test]
async fn a_slot_that_was_deleted_is_created_anew() {
    let world = World::begin().await;
    world.create(&host("node1", 2)).await;
    world.create(&non_rejectable("deleted-1", 2)).await;
    world.accepted("deleted-1").await;
    let uid = world.rest().await.slot(&slot_name("deleted-1", 0)).unwrap().uid();
    world.delete::<Reservation>(&slot_name("deleted-1", 0)).await;
    world
        .until("there are two slots again", |seen| {
            let slots = seen.slots_of("deleted-1");
            so(slots.len() == 2 && slots.iter().all(|slot| slot.uid() != uid), || format!("{} slots", slots.len()))
        })
        .await;
    world.accepted("deleted-1").await;
    world.end().await;
}

#[tokio::test]
async fn a_name_that_another_client_took_is_skipped() {
    let world = World::begin().await;
    world.create(&host("node1", 3)).await;
    world.create(&non_rejectable("taken-1", 1)).await;
    world.accepted("taken-1").await;
    let mut foreign = testing::slot("taken-1", 1);
    foreign.spec.type_ = ReservationType::FailoverReservation;
    foreign.spec.committed_resource_reservation = None;
    foreign.spec.failover_reservation = Some(berth_crds::reservation::FailoverReservationSpec::default());
    foreign.metadata.labels = Some([(labels::TYPE.to_owned(), labels::TYPE_FAILOVER.to_owned())].into());
    foreign.metadata.annotations = None;
    let foreign = world.create(&foreign).await;
    world.respec("taken-1", json!({ "amount": slots(2) })).await;
    let seen = world.accepted("taken-1").await;
    assert!(seen.slot(&slot_name("taken-1", 2)).is_some(), "number 1 is skipped");
    let same = seen.reservations.iter().find(|one| one.name_any() == foreign.name_any()).unwrap();
    assert_eq!(same.resource_version(), foreign.resource_version(), "the object of another client is unchanged");
    world.end().await;
}

#[tokio::test]
async fn a_slot_that_was_given_to_another_commitment_ends_up_where_it_fits() {
    let world = World::begin().await;
    world.create(&host("node1", 4)).await;
    for uuid in ["giver-1", "taker-1"] {
        world.create(&non_rejectable(uuid, 1)).await;
        world.accepted(uuid).await;
    }
    world.rest().await;
    let given = json!({ "committedResourceReservation": { "commitmentUUID": "taker-1" } });
    world.edit_slot(&slot_name("giver-1", 0), given).await;
    world
        .until("both have one slot", |seen| {
            let counts = ["giver-1", "taker-1"].map(|uuid| seen.slots_of(uuid).len());
            so(counts == [1, 1], || format!("{counts:?}"))
        })
        .await;
    for uuid in ["giver-1", "taker-1"] {
        world.accepted(uuid).await;
    }
    world.end().await;
}
