//! Slots in force adopt VMs of their project and group that run beside them on their host.

use std::time::Duration;

use berth_cluster::testing::failing;
use berth_core::ClusterName;
use berth_crds::Hypervisor;
use berth_scheduler::Scheduler as _;
use berth_testkit::{Fault, Verb, vms};
use serde_json::json;

use crate::support::*;

/// Slot 0 is in force on `node1`, which has room for this many slots.
async fn one_slot(room: u64) -> Process {
    let process = begin(&[("node1", room), ("node2", 1)]);
    process.make(0, Some("node1"));
    assert_eq!(process.settle().await, []);
    process.rests().await;
    process
}

fn start(process: &Process, host: &str, names: &[&str]) {
    vms::run(&process.world.server, host, names).unwrap();
}

/// The source reads what the hosts list.
fn read(process: &Process) {
    process.vms.publish(vms::snapshot(&process.world.server, process.clock.now()).unwrap());
}

fn expected(process: &Process, number: u64) -> Vec<String> {
    process.vms(number).0
}

#[tokio::test(start_paused = true)]
async fn a_vm_beside_a_slot_is_adopted_and_confirmed_by_two_writes() {
    let process = one_slot(1).await;
    start(&process, "node1", &["vm-1"]);
    read(&process);
    assert_eq!(process.settle().await, []);
    let slot = path(0).trim_start_matches('/').to_owned();
    let log = process.world.server.take_log();
    assert_eq!(log.len(), 2, "{log:?} of {slot}");
    assert_eq!(process.vms(0), (vec!["vm-1".to_owned()], vec!["vm-1 on node1".to_owned()]));
    assert_eq!(process.world.scheduler.free_capacity(&"node1".into()), Some(berth_core::Resources::ZERO));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn the_slot_is_enqueued_when_the_vm_becomes_known_and_when_it_starts() {
    let process = one_slot(2).await;
    process.run("node1", &["vm-1"]);
    read(&process);
    assert_eq!((process.settle().await, expected(&process, 0)), (vec![], vec![]), "it does not run");
    start(&process, "node1", &["vm-1"]);
    assert_eq!((process.settle().await, expected(&process, 0)), (vec![], vec!["vm-1".to_owned()]));

    let process = one_slot(2).await;
    read(&process);
    start(&process, "node1", &["vm-1"]);
    assert_eq!((process.settle().await, expected(&process, 0)), (vec![], vec![]), "nobody knows its project");
    read(&process);
    assert_eq!((process.settle().await, expected(&process, 0)), (vec![], vec!["vm-1".to_owned()]));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn vms_of_other_projects_and_groups_and_those_that_have_a_slot_stay_as_they_are() {
    let process = one_slot(3).await;
    process.make(1, None);
    process.expect(1, "vm-of-another-slot");
    start(&process, "node1", &["foreign-1", "half-1", "vm-of-another-slot"]);
    read(&process);
    process.settle().await;
    assert_eq!(expected(&process, 0), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_full_slot_leaves_the_vm_to_another_one() {
    let process = one_slot(4).await;
    start(&process, "node1", &["vm-1", "vm-2"]);
    read(&process);
    process.settle().await;
    assert_eq!(expected(&process, 0), ["vm-1"], "vm-2 does not fit any more");
    process.make(1, Some("node1"));
    process.settle().await;
    assert_eq!([expected(&process, 0), expected(&process, 1)], [["vm-1"], ["vm-2"]]);
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_adopted_as_long_as_something_cannot_be_read() {
    let process = one_slot(1).await;
    start(&process, "node1", &["vm-1"]);
    read(&process);
    let (stores, home) = (&process.world.stores, ClusterName::home());
    failing(&stores.hypervisors, &home, Some("no route"));
    process.settle().await;
    assert_eq!(expected(&process, 0), [""; 0], "the hosts are unknown");
    failing(&stores.hypervisors, &home, None);
    tokio::time::sleep(Duration::from_secs(3601)).await;
    process.reconcile(0).await.unwrap();
    assert_eq!(expected(&process, 0), [""; 0], "the snapshot is too old");
    read(&process);
    process.reconcile(0).await.unwrap();
    process.settle().await;
    assert_eq!(expected(&process, 0), ["vm-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_reservation_that_cannot_be_read_may_hold_the_vm() {
    let process = one_slot(1).await;
    let mut invalid = serde_json::to_value(berth_crds::testing::slot("other", 0)).unwrap();
    invalid["spec"]["startTime"] = json!("never");
    process.world.server.create_raw(invalid).unwrap();
    start(&process, "node1", &["vm-1"]);
    read(&process);
    process.settle().await;
    assert_eq!(expected(&process, 0), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_adoption_of_unknown_outcome_is_read_again() {
    for fault in [Fault::CutBefore, Fault::LoseAnswer] {
        let process = one_slot(1).await;
        start(&process, "node1", &["vm-1"]);
        read(&process);
        process.world.server.fail(Verb::Patch, &path(0), 1, fault);
        assert!(!process.settle().await.is_empty());
        assert_eq!(process.vms(0), (vec!["vm-1".to_owned()], vec!["vm-1 on node1".to_owned()]));
        process.rests().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vm_on_two_hosts_is_adopted_where_it_is_active() {
    let process = one_slot(1).await;
    start(&process, "node2", &["vm-1"]);
    process.run("node1", &["vm-1"]);
    read(&process);
    process.settle().await;
    assert_eq!(expected(&process, 0), [""; 0], "it arrives");
    process.world.server.edit_status::<Hypervisor>("node2", &json!({ "status": { "instances": [] } })).unwrap();
    start(&process, "node1", &["vm-1"]);
    process.settle().await;
    assert_eq!(expected(&process, 0), ["vm-1"]);
}
