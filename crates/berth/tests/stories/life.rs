//! The life of commitments, from creation to deletion. Runs the real binary on a real API server.

use std::time::Duration;

use berth_crds::{CommitmentState, Time, labels, names};
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::json;

use crate::support::objects::{
    OTHER_ZONE, host, in_zone, mixed, mixed_host, non_rejectable, rejectable, slot_name, slots,
};
use crate::support::seen::{Seen, ready, slot_ready};
use crate::support::waiting::{so, until};
use crate::support::world::World;

fn summary(seen: &Seen, uuid: &str) -> String {
    seen.commitment(uuid).unwrap().status.as_ref().unwrap().status_summary.clone().unwrap()
}

#[tokio::test]
async fn commitments_of_all_sizes_and_both_groups_are_created() {
    let world = World::with_hosts(&[host("node1", 4), mixed_host("node2", "256Gi", "64")]).await;
    world.create(&non_rejectable("create-three", 3)).await;
    // The next one would fit on its host, too.
    world.accepted("create-three").await;
    world.create(&mixed("create-mixed", "200Gi")).await;
    world.create(&mixed("create-nothing", "0")).await;
    let mut pending = rejectable("create-pending", 1);
    pending.spec.state = CommitmentState::Pending;
    world.create(&pending).await;
    for uuid in ["create-nothing", "create-pending"] {
        world.accepted(uuid).await;
    }
    let seen = world.accepted("create-mixed").await;

    assert_eq!(seen.sizes_of("create-three"), [480 * 1024; 3]);
    assert_eq!(seen.sizes_of("create-mixed"), [64 * 1024, 64 * 1024, 64 * 1024, 8 * 1024]);
    assert_eq!(seen.hosts_of("create-mixed"), ["node2"; 4]);
    // Half of the memory of the smallest flavor comes with half of its cores.
    assert_eq!(seen.slot(&slot_name("create-mixed", 3)).unwrap().spec.resources["cpu"].as_str(), "4");
    assert!(seen.slots_of("create-nothing").is_empty());
    assert!(!seen.commitment("create-nothing").unwrap().finalizers().contains(&labels::RELEASE_SLOTS.to_owned()));
    assert_eq!(summary(&seen, "create-three"), "Accepted · 0 VMs · no expiry");
    the_slot_is_whole(&seen);
    an_event_tells(&world).await;
    the_log_reports_whose_it_is(&world);
    world.end().await;
}

fn the_log_reports_whose_it_is(world: &World) {
    let log = world.operator().log();
    let line = log.lines().find(|line| line.contains("commitment changed")).unwrap();
    let whose = ["commitment=home/commitment-create-", "module=\"committed-resources\"", "greq=\"committed-resource-"];
    assert!(whose.iter().all(|field| line.contains(field)), "{line}");
}

fn the_slot_is_whole(seen: &Seen) {
    let slot = seen.slot(&slot_name("create-three", 0)).unwrap();
    let data = slot.spec.committed_resource_reservation.as_ref().unwrap();
    assert_eq!(slot.annotations().get(labels::COMMITMENT_UID), seen.commitment("create-three").unwrap().uid().as_ref());
    assert_eq!(data.creator.as_deref(), Some(labels::SLOT_CREATOR));
    assert_eq!(data.parent_generation, seen.commitment("create-three").unwrap().metadata.generation);
    assert!(slot.annotations()[labels::CREATOR_REQUEST_ID].starts_with("committed-resource-"));
    let status = slot.status.as_ref().unwrap();
    assert_eq!(
        status.committed_resource_reservation.as_ref().unwrap().observed_parent_generation,
        data.parent_generation
    );
    assert_eq!(slot_ready(slot).unwrap().reason, "ReservationActive");
}

/// Two changes of the reason would cause two events.
async fn an_event_tells(world: &World) {
    let about = format!("--field-selector=regarding.name={}", names::commitment("create-three"));
    let reasons = until(async || {
        let list = ["get", "events.v1.events.k8s.io", "-n", "default", &about, "-o", "jsonpath={.items[*].reason}"];
        let reasons = world.kubectl(&list).await;
        if reasons.is_empty() { Err("no event") } else { Ok(reasons) }
    })
    .await;
    assert_eq!(reasons.unwrap(), "Accepted");
}

#[tokio::test]
async fn a_change_of_the_amount_leaves_the_other_slots_alone() {
    let world = World::begin().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("resize-1", 1)).await;
    let one = world.accepted("resize-1").await;
    world.respec("resize-1", json!({ "amount": slots(3) })).await;
    let three = world.accepted("resize-1").await;
    assert_eq!(three.slots_of("resize-1").len(), 3);
    world.respec("resize-1", json!({ "amount": slots(2) })).await;
    let two = world.accepted("resize-1").await;
    assert_eq!(two.slots_of("resize-1").len(), 2);
    // Unchanged slots are not written.
    let first = slot_name("resize-1", 0);
    let version = |seen: &Seen| seen.slot(&first).unwrap().resource_version();
    assert_eq!((version(&one), version(&one)), (version(&three), version(&two)));
    world.end().await;
}

#[tokio::test]
async fn shrinking_keeps_slots_with_vms_and_cuts_the_last_one_in_place() {
    let world = World::begin().await;
    world.create(&host("node1", 3)).await;
    world.create(&non_rejectable("shrink-1", 3)).await;
    world.accepted("shrink-1").await;
    let used = slot_name("shrink-1", 1);
    world.start_vm(&used, "vm-1", 96).await;
    let before = world.rest().await;

    world.respec("shrink-1", json!({ "amount": slots(1) })).await;
    let one = world.accepted("shrink-1").await;
    assert_eq!(one.slots_of("shrink-1").len(), 1);
    assert_eq!(one.slot(&used).unwrap().resource_version(), before.slot(&used).unwrap().resource_version());

    world.respec("shrink-1", json!({ "amount": "240Gi" })).await;
    let half = world.accepted("shrink-1").await;
    assert_eq!(half.sizes_of("shrink-1"), [240 * 1024]);
    assert_eq!(half.slot(&used).unwrap().spec.resources["cpu"].as_str(), "15", "the cores follow the memory");

    world.respec("shrink-1", json!({ "amount": slots(1) })).await;
    let restored = world.accepted("shrink-1").await;
    assert_eq!(restored.sizes_of("shrink-1"), [480 * 1024], "the slot is restored, and none is added");
    assert!(restored.slot(&used).is_some());
    world.end().await;
}

#[tokio::test]
async fn a_full_cloud_does_not_keep_anybody_from_shrinking_or_moving_within_what_is_held() {
    let world = World::begin().await;
    world.create(&mixed_host("node1", "128Gi", "32")).await;
    world.create(&mixed("full-1", "128Gi")).await;
    let full = world.accepted("full-1").await;
    assert_eq!(full.sizes_of("full-1"), [64 * 1024; 2]);
    world.respec("full-1", json!({ "amount": "80Gi" })).await;
    let less = world.accepted("full-1").await;
    let mut sizes = less.sizes_of("full-1");
    sizes.sort_unstable();
    assert_eq!(sizes, [16 * 1024, 64 * 1024], "the smallest slot is shrunk in place, and none is created");

    world.respec("full-1", json!({ "amount": "128Gi" })).await;
    world.accepted("full-1").await;
    // Capacity that the same plan releases counts as free.
    world.respec("full-1", json!({ "projectID": "another-project", "allowRejection": true })).await;
    let moved = world.accepted("full-1").await;
    assert_eq!(moved.hosts_of("full-1"), ["node1"; 2]);
    world.end().await;
}

#[tokio::test]
async fn what_does_not_fit_is_rejected_as_a_whole() {
    let world = World::with_hosts(&[host("node1", 2)]).await;
    world.create(&rejectable("reject-1", 3)).await;
    let text = "insufficient capacity: 2/3 reservation slots could be placed: 1 host; capacity 1";
    let seen = world.reported("reject-1", "Rejected", text).await;
    assert!(seen.slots_of("reject-1").is_empty());
    assert!(seen.commitment("reject-1").unwrap().finalizers().is_empty(), "no slot, no finalizer");
    let rest = world.rest().await;
    assert_eq!(rest.versions(), seen.versions(), "a rejection is final");
    world.respec("reject-1", json!({ "amount": slots(2) })).await;
    world.accepted("reject-1").await;
    world.end().await;
}

#[tokio::test]
async fn growth_by_three_where_two_fit_is_rolled_back_when_it_may_be_rejected() {
    let world = World::with_hosts(&[host("node1", 4)]).await;
    world.create(&rejectable("grow-1", 2)).await;
    let before = world.accepted("grow-1").await;
    world.respec("grow-1", json!({ "amount": slots(5) })).await;
    world.reported("grow-1", "Rejected", "insufficient capacity: 4/5 reservation slots could be placed").await;
    let after = world.rest().await;
    assert_eq!(after.slots_of("grow-1").len(), 2);
    for slot in before.slots_of("grow-1") {
        assert_eq!(after.slot(&slot.name_any()).unwrap().spec.target_host, slot.spec.target_host);
    }
    let status = after.commitment("grow-1").unwrap().status.clone().unwrap();
    assert_eq!(status.accepted_spec.unwrap().amount.as_str(), slots(2));
    world.end().await;
}

#[tokio::test]
async fn growth_by_three_where_two_fit_waits_when_it_must_not_be_rejected() {
    let world = World::begin().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("wait-1", 2)).await;
    world.accepted("wait-1").await;
    world.respec("wait-1", json!({ "amount": slots(5) })).await;
    world.reported("wait-1", "Reserving", "insufficient capacity: 4/5 reservation slots could be placed").await;
    let waiting = world.rest().await;
    assert_eq!((waiting.slots_of("wait-1").len(), waiting.hosts_of("wait-1").len()), (5, 4));
    assert!(
        summary(&waiting, "wait-1").starts_with("Reserving (amount 960Gi→2400Gi)"),
        "{}",
        summary(&waiting, "wait-1")
    );
    world.create(&host("node2", 1)).await;
    let placed = world.accepted("wait-1").await;
    assert_eq!(placed.hosts_of("wait-1"), ["node1", "node1", "node1", "node1", "node2"]);
    world.end().await;
}

#[tokio::test]
async fn of_two_that_do_not_fit_together_exactly_one_is_accepted() {
    let world = World::with_hosts(&[host("node1", 3), host("node2", 2)]).await;
    let (one, other) = (rejectable("rival-1", 4), rejectable("rival-2", 4));
    tokio::join!(world.create(&one), world.create(&other));
    let seen = world
        .until("one is accepted and the other rejected", |seen| {
            let reasons = ["rival-1", "rival-2"].map(|uuid| {
                seen.commitment(uuid).and_then(ready).map(|ready| ready.reason.clone()).unwrap_or_default()
            });
            let mut sorted = reasons.clone();
            sorted.sort();
            so(sorted == ["Accepted", "Rejected"], || format!("{reasons:?}")).map(|()| seen.clone())
        })
        .await;
    assert_eq!(seen.slots().count(), 4, "the other commitment holds nothing");
    world.end().await;
}

#[tokio::test]
async fn a_planned_commitment_holds_nothing_before_and_after() {
    let world = World::begin().await;
    world.create(&host("node1", 2)).await;
    let mut planned = non_rejectable("planned-1", 2);
    planned.spec.state = CommitmentState::Planned;
    world.create(&planned).await;
    let seen = world.reported("planned-1", "Planned", "commitment is not yet active").await;
    assert!(seen.slots_of("planned-1").is_empty() && seen.commitment("planned-1").unwrap().finalizers().is_empty());
    world.respec("planned-1", json!({ "state": "confirmed" })).await;
    assert_eq!(world.accepted("planned-1").await.slots_of("planned-1").len(), 2);
    world.respec("planned-1", json!({ "state": "planned" })).await;
    assert!(world.reported("planned-1", "Planned", "").await.slots_of("planned-1").is_empty());
    world.end().await;
}

#[tokio::test]
async fn a_commitment_ends_by_the_clock_and_by_its_state() {
    let world = World::begin().await;
    world.create(&host("node1", 2)).await;
    let mut ending = non_rejectable("ending-1", 1);
    ending.spec.end_time = Some(Time(Timestamp::now() + Duration::from_secs(3)));
    world.create(&ending).await;
    world.create(&non_rejectable("ending-2", 1)).await;
    world.accepted("ending-1").await;
    world.accepted("ending-2").await;
    world.respec("ending-2", json!({ "state": "superseded" })).await;
    let over = "commitment is no longer active";
    assert!(world.reported("ending-2", "superseded", over).await.slots_of("ending-2").is_empty());
    // Only the timer causes this.
    let seen = world.reported("ending-1", "expired", over).await;
    assert!(seen.slots_of("ending-1").is_empty());
    assert_eq!(summary(&seen, "ending-1"), "expired · expired");
    assert!(seen.commitment("ending-1").unwrap().status.as_ref().unwrap().accepted_spec.is_some());
    world.end().await;
}

#[tokio::test]
async fn deletion_by_kubectl_leaves_nothing() {
    let mut world = World::begin().await;
    world.create(&host("node1", 5)).await;
    world.create(&non_rejectable("delete-1", 3)).await;
    world.create(&non_rejectable("delete-2", 2)).await;
    world.accepted("delete-1").await;
    world.accepted("delete-2").await;
    let name = names::commitment("delete-1");
    world.kubectl(&["delete", "committedresource", &name, "--wait", "--timeout=20s"]).await;
    assert!(world.now().await.slots_of("delete-1").is_empty());
    let left = world.holds_invariants().await;
    assert_eq!(left.slots_of("delete-2").len(), 2);

    // Nothing is reconciled: the object stays, with its slots.
    world.stop().await;
    world.delete_commitment("delete-2").await;
    assert!(world.now().await.commitment("delete-2").is_some_and(|c| c.metadata.deletion_timestamp.is_some()));
    world.start().await;
    world.until("everything is gone", |seen| so(seen.versions().is_empty(), || "something is left".to_owned())).await;
    world.end().await;
}

#[tokio::test]
async fn a_change_of_the_zone_moves_everything() {
    let world = World::begin().await;
    world.create(&host("node1", 2)).await;
    world.create(&in_zone(host("node2", 2), OTHER_ZONE)).await;
    world.create(&non_rejectable("move-1", 2)).await;
    world.accepted("move-1").await;
    world.respec("move-1", json!({ "availabilityZone": OTHER_ZONE })).await;
    let seen = world.accepted("move-1").await;
    assert_eq!(seen.hosts_of("move-1"), ["node2"; 2]);
    assert_eq!(seen.slots_of("move-1").len(), 2);
    // A zone without hosts, with rejection: the commitment goes back to its old zone.
    world.respec("move-1", json!({ "availabilityZone": "eu-test-1z", "allowRejection": true })).await;
    let text = "no host is in zone eu-test-1z";
    world.reported("move-1", "Rejected", text).await;
    assert_eq!(world.rest().await.hosts_of("move-1"), ["node2"; 2]);
    world.end().await;
}
