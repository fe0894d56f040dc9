//! Reconciliations of slots: made ready, placed, moved by users, left without a host, and failed writes.

use std::time::Duration;

use berth_cluster::testing::{applied_raw, failing};
use berth_cluster::{Action, Classified, ErrorClass, Reconciler as _};
use berth_core::ClusterName;
use berth_crds::conditions::{self, safety};
use berth_crds::{Hypervisor, Knowledge, Reservation, labels, names, testing};
use berth_scheduler::Pipelines;
use berth_testkit::{Fault, Verb, path_of, seeds};
use serde_json::json;

use crate::support::*;

/// A slot that is ready on `node1`, which has free capacity for one.
async fn in_force() -> Process {
    let process = begin(&[("node1", 1)]);
    process.make(0, Some("node1"));
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node1"));
    process.world.server.take_log();
    process
}

#[tokio::test(start_paused = true)]
async fn slot_with_a_host_is_confirmed_by_one_write() {
    let process = begin(&[("node1", 1)]);
    process.make(0, Some("node1"));
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.server.take_log(), ["status reservations/commitment-uuid-1-0"]);
    let (ready, status) = (process.ready(0), process.slot(0).status.unwrap());
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("True", "ReservationActive"));
    assert_eq!(status.committed_resource_reservation.unwrap().observed_parent_generation, Some(1));
    assert_eq!(process.hosts(0), on("node1"));
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(Duration::from_secs(300)));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_generation_of_the_commitment_is_echoed_without_touching_the_condition() {
    let process = in_force().await;
    let before = process.ready(0);
    tokio::time::sleep(Duration::from_secs(60)).await;
    process.edit(0, &json!({ "spec": { "committedResourceReservation": { "parentGeneration": 2 } } }));
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.server.take_log(), ["status reservations/commitment-uuid-1-0"]);
    let outcome = process.slot(0).status.unwrap().committed_resource_reservation.unwrap();
    assert_eq!((outcome.observed_parent_generation, process.ready(0)), (Some(2), before));
    process.rests().await;
}

/// The absence of a host is known although hosts of other zones cannot be read.
#[tokio::test(start_paused = true)]
async fn an_unreadable_host_keeps_only_slots_of_its_zone_on_a_host_that_is_gone() {
    for (zone, keeps) in [(Some(seeds::OTHER_ZONE), false), (Some(testing::ZONE), true), (None, true)] {
        let process = in_force().await;
        let labels = zone.map(|zone| json!({ (labels::ZONE): zone }));
        let unreadable =
            json!({ "metadata": { "name": "node7", "resourceVersion": "1", "labels": labels }, "spec": 1 });
        process.world.server.delete::<Hypervisor>("node1").unwrap();
        process.world.deliver().unwrap();
        applied_raw(&process.world.stores.hypervisors, &ClusterName::home(), unreadable).unwrap();
        for pause in [Duration::ZERO, GRACE] {
            tokio::time::sleep(pause).await;
            process.reconcile(0).await.unwrap();
        }
        assert_eq!(process.hosts(0) == on("node1"), keeps, "{zone:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_slot_gets_the_capacity_that_a_new_host_brings() {
    let process = begin(&[("node1", 1)]);
    process.make(0, Some("node1"));
    process.make(1, None);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(1), process.ready(1).reason.as_str()), ((None, None), "NoHostsFound"));
    process.rests().await;
    process.world.server.create(&seeds::host("node2", 1)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(1), on("node2"));
    let id = "reservations/commitment-uuid-1-1";
    assert_eq!(process.world.server.take_log(), [format!("patch {id}"), format!("status {id}")]);
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_scheduler_complains_of_is_reported_anew_when_a_slot_is_tried_again_and_not_before() {
    let process = begin(&[("node1", 1)]);
    process.world.scheduler.set_pipelines(Pipelines::default());
    process.make(0, None);
    assert_eq!(process.settle().await, []);
    let cause = |text: &str| {
        let message = process.ready(0).message;
        assert!(
            message.starts_with("the scheduler cannot decide at the moment: ") && message.contains(text),
            "{message}"
        );
    };
    cause("pipeline not found or not ready");
    let server = &process.world.server;
    let groups: Knowledge = server.get(names::FLAVOR_GROUPS).unwrap();
    let groups = serde_json::to_string(&groups).unwrap().replace("QEMU", "ironic");
    server.delete::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
    server.create(&serde_json::from_str::<Knowledge>(&groups).unwrap()).unwrap();
    process.reconcile(0).await.unwrap();
    cause("pipeline not found or not ready");
    tokio::time::sleep(Duration::from_secs(60)).await;
    process.reconcile(0).await.unwrap();
    cause("failed to determine hypervisor type");
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_slot_gets_the_capacity_that_another_one_leaves() {
    let process = begin(&[("node1", 1)]);
    process.make(0, Some("node1"));
    process.make(1, None);
    process.settle().await;
    process.world.server.delete::<Reservation>(&name(0)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(1), on("node1"));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_gone_is_left_after_the_grace_period_and_not_before() {
    let process = in_force().await;
    process.world.server.create(&seeds::host("node2", 1)).unwrap();
    process.world.server.delete::<Hypervisor>("node1").unwrap();
    process.settle().await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE));
    tokio::time::sleep(Duration::from_secs(GRACE.as_secs() - 1)).await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(Duration::from_secs(1)));
    assert_eq!((process.hosts(0), process.world.server.take_log().len()), (on("node1"), 0));
    tokio::time::sleep(Duration::from_secs(1)).await;
    process.reconcile(0).await.unwrap();
    assert_eq!(process.ready(0).message, "host node1 no longer exists; looking for another");
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node2"));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_comes_back_in_time_begins_a_new_grace_period() {
    let process = in_force().await;
    process.world.server.delete::<Hypervisor>("node1").unwrap();
    process.settle().await;
    tokio::time::sleep(GRACE / 2).await;
    process.world.server.create(&seeds::host("node1", 1)).unwrap();
    process.settle().await;
    process.world.server.delete::<Hypervisor>("node1").unwrap();
    tokio::time::sleep(GRACE / 2 + Duration::from_secs(1)).await;
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE));
    assert_eq!(process.hosts(0), on("node1"));
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_nothing_can_be_read_does_not_count() {
    let process = in_force().await;
    process.world.server.delete::<Hypervisor>("node1").unwrap();
    process.settle().await;
    tokio::time::sleep(GRACE / 3).await;
    let (hosts, home) = (&process.world.stores.hypervisors, ClusterName::home());
    failing(hosts, &home, Some("cut"));
    tokio::time::sleep(GRACE * 2).await;
    failing(hosts, &home, None);
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(GRACE / 3 * 2));
    assert_eq!(process.hosts(0), on("node1"));
}

#[tokio::test(start_paused = true)]
async fn a_slot_with_vms_that_was_sent_to_another_zone_goes_back_and_keeps_its_vms() {
    let process = in_force().await;
    process.expect(0, "vm-1");
    process.run("node1", &["vm-1"]);
    process.settle().await;
    process.world.server.create(&seeds::in_zone(seeds::host("node2", 1), seeds::OTHER_ZONE)).unwrap();
    process.send_to(0, "node2");
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node1"));
    assert_eq!(process.vms(0), (vec!["vm-1".to_owned()], vec!["vm-1 on node1".to_owned()]));
    assert_eq!(process.ready(0).status, "True");
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_slot_that_was_sent_to_another_zone_ends_where_it_was() {
    let process = in_force().await;
    process.world.server.create(&seeds::in_zone(seeds::host("node2", 1), seeds::OTHER_ZONE)).unwrap();
    process.send_to(0, "node2");
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), (None, None), "whatever has chosen that host would choose it again at once");
    assert_eq!(process.ready(0).reason, "PlacementRevoked");
    assert_eq!(process.reconcile(0).await.unwrap(), Action::RequeueAfter(RETRY));
    tokio::time::sleep(RETRY).await;
    process.reconcile(0).await.unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node1"));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_conflict_while_placing_is_reconciled_again_and_gives_the_capacity_back() {
    let process = begin(&[("node1", 1)]);
    process.make(0, None);
    process.world.server.fail(Verb::Patch, &path(0), 1, Fault::Conflict);
    let error = process.reconcile(0).await.unwrap_err();
    assert_eq!((error.class(), process.world.scheduler.assumed()), (ErrorClass::Conflict, 0), "{error}");
    assert_eq!(process.world.server.take_log(), ["patch reservations/commitment-uuid-1-0"], "no status");
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node1"));
}

#[tokio::test(start_paused = true)]
async fn an_edit_while_placing_wins_and_the_slot_is_decided_anew() {
    let process = begin(&[("node1", 1), ("node2", 1)]);
    process.make(0, None);
    process.world.server.before(Verb::Patch, &path(0), 1, |server| {
        server.edit::<Reservation>(&name(0), &json!({ "spec": { "targetHost": "node2" } })).unwrap();
    });
    assert_eq!(process.reconcile(0).await.unwrap_err().class(), ErrorClass::Conflict);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node2"));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_placement_of_unknown_outcome_keeps_its_capacity_until_it_was_read_again() {
    for fault in [Fault::Internal, Fault::LoseAnswer, Fault::Hang] {
        let process = begin(&[("node1", 1)]);
        process.make(0, None);
        process.world.server.fail(Verb::Patch, &path(0), 1, fault);
        let error = process.reconcile(0).await.unwrap_err();
        assert_eq!(
            (error.class(), process.world.scheduler.doubts().len()),
            (ErrorClass::Conflict, 1),
            "{fault:?} {error}"
        );
        process.make(1, None);
        process.reconcile(1).await.unwrap();
        assert_eq!(process.hosts(1), (None, None), "{fault:?}: the capacity is taken");
        assert_eq!(process.settle().await, []);
        let hosts = [process.hosts(0), process.hosts(1)];
        if fault == Fault::LoseAnswer {
            assert_eq!(hosts, [on("node1"), (None, None)], "the write had taken effect");
        } else {
            // The capacity becomes free when the next reconciliation shows that nothing was written; either slot may
            // get it.
            assert_eq!(hosts.iter().filter(|hosts| **hosts == on("node1")).count(), 1, "{fault:?}: {hosts:?}");
            assert!(hosts.contains(&(None, None)), "{fault:?}: {hosts:?}");
        }
        process.rests().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_placement_is_tried_again_later_and_takes_no_capacity_meanwhile() {
    let process = begin(&[("node1", 1)]);
    process.make(0, None);
    process.world.server.fail_always(Verb::Patch, &path_of::<Reservation>(""), Fault::Forbidden);
    let error = process.reconcile(0).await.unwrap_err();
    assert_eq!((error.class(), process.world.scheduler.assumed()), (ErrorClass::Transient, 0), "{error}");
    process.world.server.heal();
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node1"));
}

#[tokio::test(start_paused = true)]
async fn a_block_of_another_type_is_left_alone() {
    let process = begin(&[("node1", 1)]);
    let mut foreign = berth_crds::testing::slot(UUID, 0);
    foreign.spec.type_ = berth_crds::ReservationType::FailoverReservation;
    foreign.spec.committed_resource_reservation = None;
    foreign.spec.failover_reservation = Some(berth_crds::reservation::FailoverReservationSpec::default());
    process.world.server.create(&foreign).unwrap();
    assert_eq!(process.reconcile(0).await.unwrap(), Action::AwaitChange);
    assert_eq!(process.world.server.take_log(), [""; 0]);
}

/// `node1` is given another zone, and the controller has reconciled.
async fn relabelled(slots: u64) -> Process {
    let process = begin(&[("node1", 30), ("node2", 30)]);
    relabel_under(&process, slots).await;
    process
}

async fn relabel_under(process: &Process, slots: u64) {
    for number in 0..slots {
        process.make(number, Some("node1"));
    }
    assert_eq!(process.settle().await, []);
    process.expect(0, "vm-1");
    process.run("node1", &["vm-1"]);
    assert_eq!(process.settle().await, []);
    let labels = json!({ "metadata": { "labels": { labels::ZONE: "elsewhere" } } });
    process.world.server.edit::<Hypervisor>("node1", &labels).unwrap();
    assert_eq!(process.settle().await, []);
}

fn misplaced(process: &Process, number: u64) -> Option<String> {
    let status = process.slot(number).status.unwrap();
    conditions::find(&status.conditions, safety::MISPLACED).map(|condition| condition.message.clone())
}

#[tokio::test(start_paused = true)]
async fn slots_on_a_host_that_was_given_another_zone_say_so_and_leave_after_the_grace_period_unless_they_have_vms() {
    let process = relabelled(2).await;
    let start = "host node1 is in zone \"elsewhere\" now, the slot belongs into zone ";
    for number in [0, 1] {
        assert!(misplaced(&process, number).unwrap().starts_with(start));
        assert_eq!(process.hosts(number), on("node1"), "it stays in force for now");
    }
    process.rests().await;
    tokio::time::sleep(GRACE).await;
    for number in [0, 1] {
        process.reconcile(number).await.unwrap();
    }
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.hosts(1)), (on("node1"), (None, None)), "a revoked slot waits for its retry");
    tokio::time::sleep(Duration::from_secs(60)).await;
    process.reconcile(1).await.unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.hosts(1)), (on("node1"), on("node2")));
    assert_eq!((misplaced(&process, 0).is_some(), misplaced(&process, 1)), (true, None));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn an_event_of_each_slot_says_once_that_its_host_was_given_another_zone() {
    let process = begin(&[("node1", 30), ("node2", 30)]);
    let process = Process::start_with_events(&process.world.server, process.clock);
    relabel_under(&process, 2).await;
    process.world.slots.add(process.slots.first_keys());
    assert_eq!(process.settle().await, []);
    let events = process.world.server.published_events().await;
    for number in [0, 1] {
        let start = format!("Warning HostInAnotherZone {} host node1 is in zone \"elsewhere\" now, ", name(number));
        assert_eq!(events.iter().filter(|event| event.starts_with(&start)).count(), 1, "{events:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_given_back_its_zone_keeps_its_slots() {
    let process = relabelled(2).await;
    tokio::time::sleep(GRACE / 2).await;
    let labels = json!({ "metadata": { "labels": { labels::ZONE: berth_crds::testing::ZONE } } });
    process.world.server.edit::<Hypervisor>("node1", &labels).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!((misplaced(&process, 0), misplaced(&process, 1)), (None, None));
    tokio::time::sleep(GRACE).await;
    process.rests().await;
    assert_eq!(process.hosts(1), on("node1"));
}

#[tokio::test(start_paused = true)]
async fn more_slots_than_the_disruption_limit_admits_stay_on_hosts_that_were_given_another_zone() {
    let process = relabelled(26).await;
    tokio::time::sleep(GRACE).await;
    for number in 0..26 {
        process.reconcile(number).await.unwrap();
    }
    assert_eq!(process.settle().await, []);
    assert!((0..26).all(|number| process.hosts(number) == on("node1")));
    let held =
        |number: u64| safety::holds(&process.slot(number).status.unwrap().conditions, safety::DISRUPTION_LIMITED);
    assert!(!held(0) && held(1) && held(25));
}
