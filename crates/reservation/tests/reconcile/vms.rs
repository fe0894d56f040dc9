//! Reconciliations of ready slots whose VMs appear, end and move: what is confirmed, dropped and followed, at which
//! time, and what happens when writes fail or the process crashes.

use std::time::Duration;

use berth_cluster::testing::failing;
use berth_cluster::{Action, Classified, ErrorClass};
use berth_core::ClusterName;
use berth_crds::Hypervisor;
use berth_testkit::{Fault, Verb, seeds};
use serde_json::json;
use tokio::time::sleep;

use crate::support::*;

const SLOT: &str = "reservations/commitment-uuid-1-0";

fn these(expected: &[&str], confirmed: &[&str]) -> (Vec<String>, Vec<String>) {
    let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect();
    (texts(expected), texts(confirmed))
}

/// Hosts with free capacity for this many slots, and slot 0 ready on `node1`, which lists the VMs in its allocations.
async fn occupied(hosts: &[(&str, u64)], vms: &[&str]) -> Process {
    let process = begin(hosts);
    process.make(0, Some("node1"));
    for vm in vms {
        process.expect(0, vm);
    }
    process.run("node1", vms);
    assert_eq!(process.settle().await, []);
    let confirmed: Vec<_> = vms.iter().map(|vm| format!("{vm} on node1")).collect();
    assert_eq!(process.vms(0).1, confirmed);
    process.rests().await;
    process
}

/// The process has crashed, and the next one continues.
fn restart(process: Process) -> Process {
    process.world.server.heal();
    Process::start(&process.world.server, process.clock)
}

/// The only VM of slot 0 has moved from `node1` to `node2`.
fn moves(process: &Process) {
    process.run("node2", &["vm"]);
    process.run("node1", &[]);
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_has_arrived_is_confirmed_by_one_write() {
    let process = occupied(&[("node1", 1)], &[]).await;
    process.expect(0, "vm");
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.server.take_log(), [""; 0], "the VM is only expected");
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE));
    process.run("node1", &["vm", "another"]);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.server.take_log(), [format!("status {SLOT}")]);
    assert_eq!(process.vms(0), these(&["vm"], &["vm on node1"]));
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(Duration::from_secs(300)));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn vm_that_does_not_come_leaves_the_slot_when_its_grace_ends() {
    let process = occupied(&[("node1", 1)], &[]).await;
    process.expect(0, "vm");
    process.settle().await;
    sleep(Duration::from_secs(ALLOCATION_GRACE.as_secs() - 7)).await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(Duration::from_secs(7)));
    assert_eq!(process.vms(0), these(&["vm"], &[]));
    sleep(Duration::from_secs(7)).await;
    process.reconcile(0).await.unwrap();
    assert_eq!((process.vms(0), process.world.server.take_log()), (these(&[], &[]), vec![format!("patch {SLOT}")]));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn every_vm_of_a_flood_that_does_not_come_leaves_the_slot_at_its_own_time() {
    let process = occupied(&[("node1", 1)], &["real"]).await;
    let (interval, all) = (Duration::from_secs(10), 200);
    for number in 0..all {
        process.expect(0, &format!("vm-{number:03}"));
        assert_eq!(process.settle().await, []);
        sleep(interval).await;
    }
    process.reconcile(0).await.unwrap();
    let young = usize::try_from(ALLOCATION_GRACE.as_secs() / interval.as_secs()).unwrap();
    let (expected, confirmed) = process.vms(0);
    let left: Vec<_> = (all - young + 1..all).map(|number| format!("vm-{number:03}")).collect();
    assert_eq!(
        (&expected[..], &confirmed[..]),
        (&[&["real".to_owned()], &left[..]].concat()[..], &["real on node1".to_owned()][..])
    );
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_ended_leaves_the_slot_after_the_grace_interval() {
    let process = occupied(&[("node1", 1)], &["vm"]).await;
    process.run("node1", &[]);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE));
    sleep(Duration::from_secs(GRACE.as_secs() - 1)).await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(Duration::from_secs(1)));
    assert_eq!(process.vms(0), these(&["vm"], &["vm on node1"]));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(Duration::from_secs(300)));
    assert_eq!((process.vms(0), process.hosts(0)), (these(&[], &[]), on("node1")));
    assert_eq!(process.world.server.take_log(), [format!("patch {SLOT}"), format!("status {SLOT}")]);
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn slot_follows_its_only_vm_and_stays_ready() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    let before = process.ready(0);
    process.run("node2", &["vm"]);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.server.take_log(), [""; 0], "the VM is on both hosts: the migration is under way");
    process.run("node1", &[]);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.vms(0)), (on("node2"), these(&["vm"], &["vm on node2"])));
    assert_eq!(process.world.server.take_log(), [format!("patch {SLOT}"), format!("status {SLOT}")]);
    assert_eq!(process.ready(0), before);
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn slot_does_not_follow_where_its_unfilled_part_does_not_fit() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    process.run("node2", &["vm", "another"]);
    process.run("node1", &[]);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.vms(0)), (on("node1"), these(&[], &[])));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_of_another_zone_is_never_synced() {
    let process = occupied(&[("node1", 1)], &["vm"]).await;
    process.world.server.create(&seeds::in_zone(seeds::host("node2", 4), seeds::OTHER_ZONE)).unwrap();
    moves(&process);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.vms(0)), (on("node1"), these(&[], &[])));
}

#[tokio::test(start_paused = true)]
async fn of_two_vms_the_one_that_moves_leaves_the_slot() {
    let process = occupied(&[("node1", 1), ("node2", 2)], &["vm", "vm-2"]).await;
    process.run("node2", &["vm"]);
    process.run("node1", &["vm-2"]);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.vms(0)), (on("node1"), these(&["vm-2"], &["vm-2 on node1"])));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_is_nowhere_for_a_moment_is_synced_when_it_is_seen_again() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    process.run("node1", &[]);
    assert_eq!(process.settle().await, []);
    sleep(GRACE / 2).await;
    process.run("node2", &["vm"]);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.vms(0)), (on("node2"), these(&["vm"], &["vm on node2"])));
    process.run("node2", &[]);
    process.settle().await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE), "the next absence starts again");
}

#[tokio::test(start_paused = true)]
async fn while_hosts_cannot_be_read_no_vm_is_lost_and_no_time_passes() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    let (hosts, home) = (process.world.stores.hypervisors.clone(), ClusterName::home());
    process.run("node1", &[]);
    process.settle().await;
    sleep(GRACE / 2).await;
    failing(&hosts, &home, Some("cut"));
    sleep(GRACE * 2).await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(Duration::from_secs(300)));
    failing(&hosts, &home, None);
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE / 2));
    assert_eq!(process.vms(0), these(&["vm"], &["vm on node1"]));
}

#[tokio::test(start_paused = true)]
async fn a_status_without_expected_vms_is_cleared() {
    let process = occupied(&[("node1", 1)], &["vm"]).await;
    process.edit(0, &json!({ "spec": { "committedResourceReservation": { "allocations": null } } }));
    assert_eq!(process.settle().await, []);
    assert_eq!(process.vms(0), these(&[], &[]));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_was_sent_away_goes_back_to_its_vm() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    process.send_to(0, "node2");
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.vms(0)), (on("node1"), these(&["vm"], &["vm on node1"])));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_was_sent_to_its_vm_is_confirmed_there() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    process.run("node2", &["vm"]);
    process.send_to(0, "node2");
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.vms(0)), (on("node2"), these(&["vm"], &["vm on node2"])));
    process.rests().await;
}

/// A world in which `v3` is in the allocations of slots on three hosts.
async fn three_candidates() -> Process {
    let process = begin(&[("node1", 1), ("node2", 1), ("node3", 1)]);
    for (number, host) in [(0, "node1"), (1, "node2"), (2, "node3")] {
        process.make(number, Some(host));
        process.expect(number, "v3");
    }
    assert_eq!(process.settle().await, []);
    process.world.server.take_log();
    process
}

#[tokio::test(start_paused = true)]
async fn vm_that_arrives_leaves_the_other_candidates() {
    let process = three_candidates().await;
    process.run("node1", &["v3"]);
    assert_eq!(process.settle().await, []);
    let all = [process.vms(0), process.vms(1), process.vms(2)];
    assert_eq!(all, [these(&["v3"], &["v3 on node1"]), these(&[], &[]), these(&[], &[])]);
    let id = |number: u64| format!("reservations/commitment-uuid-1-{number}");
    let writes = [format!("patch {}", id(1)), format!("patch {}", id(2)), format!("status {}", id(0))];
    assert_eq!(process.world.server.take_log(), writes);
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn candidate_that_cannot_be_cleaned_is_tried_again_before_anything_is_confirmed() {
    let process = three_candidates().await;
    process.run("node1", &["v3"]);
    process.world.server.fail(Verb::Patch, &path(2), 1, Fault::Unavailable);
    process.reconcile(0).await.unwrap_err();
    assert_eq!(process.vms(0), these(&["v3"], &[]));
    assert_eq!(process.settle().await, []);
    assert_eq!((process.vms(0), process.vms(2)), (these(&["v3"], &["v3 on node1"]), these(&[], &[])));
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_former_slot_is_cleaned_as_well() {
    let process = occupied(&[("node1", 2)], &[]).await;
    process.make(1, Some("node1"));
    process.expect(1, "vm");
    process.run("node1", &["vm"]);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.vms(1), these(&["vm"], &["vm on node1"]));
    process.expect(0, "vm");
    process.reconcile(0).await.unwrap();
    assert_eq!((process.vms(0), process.vms(1)), (these(&["vm"], &["vm on node1"]), these(&[], &[])));
    process.settle().await;
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn of_two_slots_on_a_host_the_first_by_key_keeps_the_vm() {
    let process = occupied(&[("node1", 2)], &["vm"]).await;
    process.make(1, Some("node1"));
    process.expect(1, "vm");
    assert_eq!(process.settle().await, []);
    assert_eq!((process.vms(0), process.vms(1)), (these(&["vm"], &["vm on node1"]), these(&[], &[])));
    process.rests().await;
}

/// Moving the allocation away from the source at once would over-book that host as long as both hosts list the VM.
#[tokio::test(start_paused = true)]
async fn a_vm_that_arrives_in_another_slot_leaves_the_former_one_when_it_has_left_its_host() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    process.make(1, Some("node2"));
    process.expect(1, "vm");
    process.run("node2", &["vm"]);
    assert_eq!(process.settle().await, []);
    let arrived = these(&["vm"], &["vm on node2"]);
    assert_eq!((process.vms(0), process.vms(1)), (these(&["vm"], &["vm on node1"]), arrived.clone()));
    process.run("node1", &[]);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.vms(0), process.vms(1)), (these(&[], &[]), arrived));
    assert_eq!(process.hosts(0), on("node1"), "its capacity is free for the next VM");
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_is_booked_while_the_last_one_is_dropped_stays() {
    let process = occupied(&[("node1", 1)], &["vm"]).await;
    process.run("node1", &[]);
    process.settle().await;
    sleep(GRACE).await;
    process.world.server.before(Verb::Patch, &path(0), 1, |server| {
        let allocation = json!({ "creationTimestamp": "2026-03-01T12:15:00Z", "resources": {} });
        let patch = json!({ "spec": { "committedResourceReservation": { "allocations": { "booked": allocation } } } });
        server.edit::<berth_crds::Reservation>(&name(0), &patch).unwrap();
    });
    assert_eq!(process.reconcile(0).await.unwrap_err().class(), ErrorClass::Conflict);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.vms(0), these(&["booked"], &[]));
}

#[tokio::test(start_paused = true)]
async fn a_status_that_has_changed_meanwhile_is_not_overwritten() {
    let process = occupied(&[("node1", 1)], &["vm"]).await;
    process.edit(0, &json!({ "spec": { "committedResourceReservation": { "allocations": null } } }));
    process.world.server.before(Verb::PatchStatus, &path(0), 1, |server| {
        let other = json!({ "status": { "committedResourceReservation": { "allocations": { "other": "node1" } } } });
        server.edit_status::<berth_crds::Reservation>(&name(0), &other).unwrap();
    });
    assert_eq!(process.reconcile(0).await.unwrap_err().class(), ErrorClass::Conflict);
    assert_eq!(process.vms(0).1, ["other on node1", "vm on node1"]);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.vms(0), these(&[], &[]));
}

/// Each fault at each write of a slot that follows its VM: the end is the same as without it, and no free capacity is
/// held twice.
#[tokio::test(start_paused = true)]
async fn move_converges_whatever_becomes_of_its_writes() {
    let faults = [
        Fault::Conflict,
        Fault::Internal,
        Fault::Unavailable,
        Fault::TimeoutAfterwards,
        Fault::LoseAnswer,
        Fault::Hang,
        Fault::CutBefore,
    ];
    for (verb, fault) in [Verb::Patch, Verb::PatchStatus].into_iter().flat_map(|verb| faults.map(|fault| (verb, fault)))
    {
        let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
        moves(&process);
        process.world.server.fail(verb, &path(0), 1, fault);
        process.reconcile(0).await.unwrap_err();
        process.settle().await;
        let moved = (on("node2"), these(&["vm"], &["vm on node2"]));
        assert_eq!((process.hosts(0), process.vms(0)), moved, "{verb} {fault:?}");
        assert_eq!(process.ready(0).status, "True");
        process.rests().await;
    }
}

#[tokio::test(start_paused = true)]
async fn process_that_ends_between_two_writes_is_continued_by_the_next() {
    for writes in 0..2 {
        let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
        moves(&process);
        process.world.server.stop_after(writes);
        process.reconcile(0).await.unwrap_err();
        let next = restart(process);
        next.reconcile(0).await.unwrap();
        assert_eq!(next.settle().await, []);
        assert_eq!((next.hosts(0), next.vms(0)), (on("node2"), these(&["vm"], &["vm on node2"])), "after {writes}");
        next.rests().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_counts_the_absence_of_a_vm_anew() {
    let process = occupied(&[("node1", 1)], &["vm"]).await;
    process.run("node1", &[]);
    process.settle().await;
    sleep(GRACE / 2).await;
    let next = restart(process);
    assert_eq!(next.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE));
}

#[tokio::test(start_paused = true)]
async fn vms_on_a_host_that_has_gone_stay_until_the_slot_loses_it() {
    let process = occupied(&[("node1", 1), ("node2", 1)], &["vm"]).await;
    process.world.server.delete::<Hypervisor>("node1").unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(process.vms(0), these(&["vm"], &["vm on node1"]));
    sleep(GRACE).await;
    process.reconcile(0).await.unwrap();
    assert_eq!(process.vms(0), these(&[], &[]));
}
