//! Tests that every release has to pass, with the real binary and a real API server. Each ends with the invariants and
//! a second start that writes nothing. Two more are in `life.rs` (growth by three where two fit, and two commitments
//! that do not fit together) and in `hosts.rs` (a host that is gone for good, and one that is back within the grace
//! period).

use std::time::Duration;

use berth_crds::{CommittedResource, Hypervisor, Time, names};
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::json;

use crate::support::objects::{host, non_rejectable, rejectable, slot_name, slots};
use crate::support::seen::{Seen, amount, in_force_on, ready, slot_ready};
use crate::support::waiting::so;
use crate::support::world::World;

/// Two commitments of 4 slots with free capacity for 5; the first is accepted before the second is created.
async fn capacity_for_five(first: &CommittedResource, second: &CommittedResource) -> World {
    let world = World::with_hosts(&[host("node1", 3), host("node2", 2)]).await;
    world.create(first).await;
    world.accepted(&first.spec.commitment_uuid).await;
    world.create(second).await;
    world
}

#[tokio::test]
async fn two_commitments_of_four_with_capacity_for_five_where_the_second_may_be_rejected() {
    let world = capacity_for_five(&non_rejectable("five-1", 4), &rejectable("five-2", 4)).await;
    let text = "insufficient capacity: 1/4 reservation slots could be placed: 2 hosts; capacity";
    let seen = world.reported("five-2", "Rejected", text).await;
    assert_eq!((seen.slots_of("five-1").len(), seen.slots_of("five-2").len()), (4, 0));
    // A rejection is final: a new spec is accepted, later free capacity alone is not enough.
    world.create(&host("node3", 4)).await;
    assert!(world.rest().await.slots_of("five-2").is_empty());
    world.respec("five-2", json!({ "amount": slots(3) })).await;
    assert_eq!(world.accepted("five-2").await.slots_of("five-2").len(), 3);
    world.end().await;
}

#[tokio::test]
async fn two_commitments_of_four_with_capacity_for_five_where_the_second_must_not_be_rejected() {
    let world = capacity_for_five(&rejectable("five-3", 4), &non_rejectable("five-4", 4)).await;
    let text = "insufficient capacity: 1/4 reservation slots could be placed: 2 hosts; capacity";
    world.reported("five-4", "Reserving", text).await;
    let waiting = world.rest().await;
    assert_eq!(
        (waiting.slots_of("five-4").len(), waiting.hosts_of("five-4").len()),
        (4, 1),
        "the slots that fit are held"
    );
    assert_eq!(waiting.hosts_of("five-3").len(), 4, "the first commitment is unchanged");
    world.delete_commitment("five-3").await;
    world.accepted("five-4").await;
    world.end().await;
}

#[tokio::test]
async fn shrinking_cuts_slots_with_vms_to_what_they_use_before_any_is_given_up() {
    let world = World::with_hosts(&[host("node1", 3)]).await;
    world.create(&non_rejectable("shrink-1", 3)).await;
    world.accepted("shrink-1").await;
    for (number, vm, gib) in [(0, "vm-a", 96), (1, "vm-b", 240), (2, "vm-c", 480)] {
        world.start_vm(&slot_name("shrink-1", number), vm, gib).await;
    }
    world.rest().await;

    // All three are used: the first two shrink to what they use, and no slot is lost.
    world.respec("shrink-1", json!({ "amount": "900Gi" })).await;
    let cut = world.accepted("shrink-1").await;
    assert_eq!(cut.sizes_of("shrink-1").iter().sum::<i64>(), 900 * 1024);
    assert!(uses(&cut, "shrink-1").iter().all(|(used, size)| used <= size), "{:?}", uses(&cut, "shrink-1"));

    // Their usage together exceeds the new amount: the least used slot goes, and its VM continues to run.
    world.respec("shrink-1", json!({ "amount": "720Gi" })).await;
    let less = world.accepted("shrink-1").await;
    let expected = [(240 * 1024, 240 * 1024), (480 * 1024, 480 * 1024)];
    assert_eq!(uses(&less, "shrink-1"), expected);
    assert_eq!(less.hosts[0].status.as_ref().unwrap().instances.len(), 3);
    world.end().await;
}

/// The usage of the VMs of each slot, and its size, in MiB.
fn uses(seen: &Seen, uuid: &str) -> Vec<(i64, i64)> {
    let used = |slot: &&berth_crds::Reservation| {
        let data = slot.spec.committed_resource_reservation.as_ref().unwrap();
        data.allocations.values().map(|vm| amount(&vm.resources, "memory") >> 20).sum::<i64>()
    };
    seen.slots_of(uuid).iter().map(used).zip(seen.sizes_of(uuid)).collect()
}

#[tokio::test]
async fn a_commitment_that_is_deleted_while_it_is_placed_leaves_nothing_and_its_capacity_to_others() {
    let world = World::with_hosts(&[host("node1", 60)]).await;
    // More than fits, so that some slots are written with a host and some wait for one.
    world.create(&non_rejectable("hasty-1", 90)).await;
    world
        .until("its first slot is there", |seen| {
            so(!seen.slots_of("hasty-1").is_empty(), || "there is none".to_owned())
        })
        .await;
    world.delete_commitment("hasty-1").await;
    world
        .until("everything of it is gone", |seen| {
            so(seen.versions().is_empty(), || format!("{} objects are left", seen.versions().len()))
        })
        .await;
    world.create(&rejectable("next-1", 60)).await;
    assert_eq!(world.accepted("next-1").await.slots_of("next-1").len(), 60);
    world.end().await;
}

#[tokio::test]
async fn a_host_that_is_back_after_the_grace_period_takes_its_slots_again_and_only_those_without_a_host() {
    let world = World::with_hosts(&[host("node1", 2)]).await;
    world.create(&rejectable("back-1", 2)).await;
    world.accepted("back-1").await;
    world.start_vm(&slot_name("back-1", 0), "vm-1", 96).await;
    let before = world.rest().await;
    world.delete::<Hypervisor>("node1").await;
    let text = "insufficient capacity: 0/2 reservation slots could be placed";
    world.reported("back-1", "Reserving", text).await;
    let lost = world.rest().await;
    assert!(lost.hosts_of("back-1").is_empty());
    let data = lost.slot(&slot_name("back-1", 0)).unwrap().spec.committed_resource_reservation.clone().unwrap();
    assert!(data.allocations.is_empty(), "with a host its VMs are gone");

    // One of the two finds another host before the first host is back; the other one stays.
    world.create(&host("node2", 1)).await;
    world.reported("back-1", "Reserving", "insufficient capacity: 1/2").await;
    let moved = world.rest().await;
    world.create(&host("node1", 2)).await;
    let back = world.accepted("back-1").await;
    assert_eq!(back.hosts_of("back-1"), ["node1", "node2"]);
    let stayed = moved.slots_of("back-1").into_iter().find(|slot| slot.spec.target_host.is_some()).unwrap();
    let version = |seen: &Seen| seen.slot(&stayed.name_any()).unwrap().resource_version();
    assert_eq!(version(&back), version(&moved));
    let uids = |seen: &Seen| seen.slots_of("back-1").iter().map(|slot| slot.uid()).collect::<Vec<_>>();
    assert_eq!(uids(&back), uids(&before), "the slots are the same");
    world.end().await;
}

#[tokio::test]
async fn a_commitment_with_vms_that_ends_by_the_clock_releases_its_slots_and_leaves_the_vms_alone() {
    let world = World::with_hosts(&[host("node1", 2)]).await;
    world.create(&non_rejectable("over-1", 2)).await;
    world.accepted("over-1").await;
    world.start_vm(&slot_name("over-1", 0), "vm-1", 480).await;
    let running = world.rest().await;
    let end = Time(Timestamp::now() + Duration::from_secs(2));
    world.respec("over-1", json!({ "endTime": end })).await;
    world.accepted("over-1").await;
    let seen = world.reported("over-1", "expired", "commitment is no longer active").await;
    assert!(seen.slots_of("over-1").is_empty());
    let versions = |seen: &Seen| seen.hosts.iter().map(ResourceExt::resource_version).collect::<Vec<_>>();
    assert_eq!(versions(&seen), versions(&running), "nothing was written to the host of the VM");
    let status = seen.commitment("over-1").unwrap().status.clone().unwrap();
    assert_eq!(status.status_summary.as_deref(), Some("expired · expired"));
    assert!(status.accepted_spec.is_some());
    // A clock that is set back does not revive an expired commitment; a new end time does.
    world.enqueue_all().await;
    assert_eq!(ready(world.rest().await.commitment("over-1").unwrap()).unwrap().reason, "expired");
    world.edit::<CommittedResource>(&names::commitment("over-1"), json!({ "spec": { "endTime": null } })).await;
    // The VM still runs there, outside of the commitment: there is free capacity for one slot only.
    world.reported("over-1", "Reserving", "insufficient capacity: 1/2").await;
    world.end().await;
}

/// One slot with a VM of half its size on `node1`, and `node2` with free capacity for this many slots.
async fn about_to_migrate(uuid: &str, free: u64) -> World {
    let world = World::with_hosts(&[host("node1", 1)]).await;
    world.create(&rejectable(uuid, 1)).await;
    world.accepted(uuid).await;
    world.start_vm(&slot_name(uuid, 0), "vm-1", 240).await;
    world.create(&host("node2", 1 + free)).await;
    if free == 0 {
        world.create(&non_rejectable("neighbour-1", 1)).await;
        world.accepted("neighbour-1").await;
    }
    world
        .until("the VM is confirmed", |seen| so(confirmed(seen, uuid) == [on("node1")], || "not yet".to_owned()))
        .await;
    world
}

fn on(host: &str) -> (String, String) {
    ("vm-1".to_owned(), host.to_owned())
}

/// The VMs that the status of the slot names, each with its host.
fn confirmed(seen: &Seen, uuid: &str) -> Vec<(String, String)> {
    let status = seen.slot(&slot_name(uuid, 0)).unwrap().status.clone().unwrap();
    status.committed_resource_reservation.map(|data| data.allocations.into_iter().collect()).unwrap_or_default()
}

#[tokio::test]
async fn a_slot_follows_its_vm_that_migrates() {
    let world = about_to_migrate("follow-1", 1).await;
    let before = world.rest().await;
    // Live migration: for a while both hosts list the VM, and the slot stays where it was.
    world.report_vm("node2", "vm-1", 240).await;
    let both = world.rest().await;
    let version = |seen: &Seen| seen.slot(&slot_name("follow-1", 0)).unwrap().resource_version();
    assert_eq!(version(&both), version(&before), "no VM is known to have moved yet");
    world.report_without_vm("node1", "vm-1", 240).await;
    world
        .until("the slot is where its VM is", |seen| {
            let (hosts, vms) = (seen.hosts_of("follow-1"), confirmed(seen, "follow-1"));
            so(hosts == ["node2"] && vms == [on("node2")], || format!("{hosts:?} {vms:?}"))
        })
        .await;
    let after = world.accepted("follow-1").await;
    let slot = after.slot(&slot_name("follow-1", 0)).unwrap();
    assert_eq!(in_force_on(slot), Some("node2"));
    let since =
        |seen: &Seen| slot_ready(seen.slot(&slot_name("follow-1", 0)).unwrap()).unwrap().last_transition_time.clone();
    assert_eq!(since(&after), since(&before), "the slot was Ready all the time");
    // The source host is free for other commitments.
    world.create(&rejectable("heir-1", 1)).await;
    world.accepted("heir-1").await;
    world.end().await;
}

#[tokio::test]
async fn a_slot_stays_and_forgets_its_vm_that_migrates_to_where_the_slot_does_not_fit() {
    let world = about_to_migrate("stay-1", 0).await;
    world.rest().await;
    // The neighbour's slot is empty: the VM starts in capacity that is promised to others, which nothing can prevent.
    world.report_vm("node2", "vm-1", 240).await;
    world.report_without_vm("node1", "vm-1", 240).await;
    world
        .until("the slot has forgotten the VM", |seen| {
            let slot = seen.slot(&slot_name("stay-1", 0)).ok_or("it is gone")?;
            let data = slot.spec.committed_resource_reservation.clone().unwrap_or_default();
            so(data.allocations.is_empty(), || "not yet".to_owned())
        })
        .await;
    let seen = world.accepted("stay-1").await;
    assert_eq!((seen.hosts_of("stay-1"), confirmed(&seen, "stay-1")), (vec!["node1".to_owned()], vec![]));
    // The VM ends; until then its host is over-booked, which is not caused by the operator.
    world.report_without_vm("node2", "vm-1", 240).await;
    world.end().await;
}
