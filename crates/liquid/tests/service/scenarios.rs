//! What Limes, people and time do to commitments while they are changed, with both outcomes.

use std::time::Duration;

use berth_committed_resource::ChangeVerdict;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommitmentChange, CommittedResource, CommittedResourceSpec, Time, facts, labels, names, testing};
use berth_testkit::{Server, Verb, path_of, seeds};
use serde_json::{Value, json};

use crate::support::*;

const MINUTE: Duration = Duration::from_secs(60);

type Items<'a> = [(&'a str, Option<CommittedResourceSpec>)];

/// Begins a change that needs confirmation, and lets it come to its end.
async fn complete(process: &Process, items: &Items<'_>) -> ChangePhase {
    let _caller = process.begin(items, true);
    process.settle_for_good().await;
    let phase = change(&process.world.server).phase();
    assert_finished(&process.world.server, phase);
    phase
}

fn message(server: &Server) -> String {
    change(server).status.unwrap().message.unwrap()
}

fn ending(process: &Process, spec: CommittedResourceSpec, after: Duration) -> CommittedResourceSpec {
    let end = process.clock.now().saturating_add(after).unwrap();
    CommittedResourceSpec { end_time: Some(Time(end)), ..spec }
}

fn edit(process: &Process, uuid: &str, patch: &Value) {
    let server = &process.world.server;
    process.checker.act_as_user(|| server.edit::<CommittedResource>(&names::commitment(uuid), patch).unwrap());
}

/// All of the commitment is converted to so many slots of the other group.
fn conversion(slots: u64) -> [(&'static str, Option<CommittedResourceSpec>); 2] {
    [(NEW, Some(in_other_group(spec(NEW, slots)))), (OLD, Some(superseded(OLD)))]
}

fn is_superseded(server: &Server, uuid: &str) -> bool {
    spec_of(server, uuid) == superseded(uuid)
}

#[tokio::test(start_paused = true)]
async fn a_commitment_grows_and_shrinks_and_is_deleted() {
    let clock = clock();
    let server = server(&clock, 4);
    server.create(&seeds::rejectable(OLD, 2)).unwrap();
    let process = Process::start(&server, &clock);
    process.settle_for_good().await;
    for (name, slots) in [("grow", 4), ("shrink", 1)] {
        let _caller = process.begin_in(testing::ZONE, name, &[(OLD, Some(spec(OLD, slots)))], true);
        process.settle_for_good().await;
        assert_named_finished(&server, name, ChangePhase::Accepted);
        assert_eq!((reason(&server, OLD).as_str(), placed(&server, OLD).len() as u64), ("Accepted", slots), "{name}");
    }
    assert_eq!(complete(&process, &[(OLD, None)]).await, ChangePhase::Accepted);
    assert!(!exists(&server, OLD) && slots_of(&server, OLD).is_empty());
}

#[tokio::test(start_paused = true)]
async fn growth_that_does_not_fit_leaves_the_commitment_as_it_was() {
    let (server, process) = full(2).await;
    let before = picture(&server, OLD);
    assert_eq!(complete(&process, &[(OLD, Some(spec(OLD, 3)))]).await, ChangePhase::RolledBack);
    assert_eq!(picture(&server, OLD), before);
}

/// A commitment that has ended, and whose capacity is free.
async fn expired() -> (Server, Process) {
    let (server, process) = full(2).await;
    let end = process.clock.now().saturating_add(MINUTE).unwrap();
    edit(&process, OLD, &json!({ "spec": { "endTime": Time(end) } }));
    process.settle().await;
    process.wait(MINUTE * 2).await;
    assert_eq!((reason(&server, OLD).as_str(), slots_of(&server, OLD).len()), ("expired", 0));
    (server, process)
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_has_ended_gets_capacity_again_when_it_is_prolonged() {
    let (server, process) = expired().await;
    let later = ending(&process, spec(OLD, 2), MINUTE * 600);
    assert_eq!(process.dry_run(&[(OLD, Some(later.clone()))]).await, ChangeVerdict::Fits);
    assert_eq!(complete(&process, &[(OLD, Some(later))]).await, ChangePhase::Accepted);
    assert_eq!((reason(&server, OLD).as_str(), placed(&server, OLD).len()), ("Accepted", 2));
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_has_ended_is_not_prolonged_when_others_have_its_capacity() {
    let (server, process) = expired().await;
    server.create(&seeds::rejectable(REST, 1)).unwrap();
    process.settle().await;
    assert_eq!(placed(&server, REST).len(), 1);
    let later = ending(&process, spec(OLD, 2), MINUTE * 600);
    let short = "insufficient capacity: 1/2 reservation slots could be placed";
    let rejected = ChangeVerdict::Rejected(vec![(OLD.into(), short.to_owned())]);
    assert_eq!(process.dry_run(&[(OLD, Some(later.clone()))]).await, rejected);
    let _caller = process.begin(&[(OLD, Some(later))], true);
    process.settle().await;
    process.wait(WATCH_TIMEOUT).await;
    process.settle_for_good().await;
    assert_finished(&server, ChangePhase::RolledBack);
    assert_eq!((reason(&server, OLD).as_str(), placed(&server, REST).len()), ("expired", 1));
}

/// The commitment is paused as soon as the change has written it.
async fn pause_in_a_change(slots: u64) -> (Server, Process) {
    let (server, process) = full(4).await;
    let_another_wait(&server, &process, 480).await;
    let caller = process.begin(&conversion(slots), true);
    assert!(process.settle_until(|| is_superseded(&server, OLD)).await);
    edit(&process, OLD, &json!({ "metadata": { "annotations": { labels::PAUSED: "true" } } }));
    process.settle().await;
    process.wait(WATCH_TIMEOUT + PAUSE_OF_A_PERSON).await;
    drop(caller);
    process.settle().await;
    (server, process)
}

const PAUSE_OF_A_PERSON: Duration = MINUTE;

#[tokio::test(start_paused = true)]
async fn a_change_of_a_commitment_that_is_paused_meanwhile_ends_with_the_pause() {
    for slots in [3, 4, 5] {
        let (server, process) = pause_in_a_change(slots).await;
        edit(&process, OLD, &json!({ "metadata": { "annotations": { labels::PAUSED: null } } }));
        process.settle().await;
        process.wait(MINUTE).await;
        process.settle_for_good().await;
        let phase = change(&server).phase();
        assert_finished(&server, phase);
        let expected = if phase == ChangePhase::Accepted { (0, slots) } else { (4, 0) };
        let found = (placed(&server, OLD).len() as u64, placed(&server, NEW).len() as u64);
        assert_eq!(found, expected, "{slots} slots: {phase}");
    }
}

fn has_change(server: &Server) -> bool {
    server.get::<CommitmentChange>(&names::commitment_change("a")).is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_change_that_a_person_deletes_after_it_was_accepted_is_completed() {
    let (server, process) = full(4).await;
    let _caller = process.begin(&[(NEW, Some(in_other_group(spec(NEW, 4)))), (OLD, None)], true);
    let checker = process.checker.clone();
    server.before(Verb::Delete, &path_of::<CommittedResource>(&names::commitment(OLD)), 1, move |server| {
        assert_eq!((change(server).phase(), facts::is_open(&change(server))), (ChangePhase::Accepted, true));
        let name = names::commitment_change("a");
        checker.act_as_user(|| server.delete::<CommitmentChange>(&name).unwrap());
    });
    process.settle_for_good().await;
    assert!(!exists(&server, OLD) && !has_change(&server));
    assert_eq!(placed(&server, NEW).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_is_edited_before_the_first_write_is_a_conflict() {
    let (server, process) = full(4).await;
    let _caller = process.begin(&conversion(2), true);
    edit(&process, OLD, &json!({ "spec": { "amount": seeds::slots(3) } }));
    process.settle_for_good().await;
    assert_finished(&server, ChangePhase::RolledBack);
    assert_eq!(message(&server), "Conflict: a commitment was changed by another writer");
    assert_eq!((placed(&server, OLD).len(), exists(&server, NEW)), (3, false), "the edit stays");
}

/// Another writer restores the former spec so many times after the change has written it.
async fn overwrite(times: u32) -> (Server, ChangePhase) {
    let (server, process) = full(4).await;
    let _caller = process.begin(&conversion(4), true);
    for _ in 0..times {
        if process.settle_until(|| is_superseded(&server, OLD)).await {
            edit(&process, OLD, &json!({ "spec": spec(OLD, 4) }));
        }
    }
    process.settle_for_good().await;
    let phase = change(&server).phase();
    assert_finished(&server, phase);
    let expected = if phase == ChangePhase::Accepted { (0, 4) } else { (4, 0) };
    assert_eq!((placed(&server, OLD).len(), placed(&server, NEW).len()), expected, "{times} times");
    (server, phase)
}

#[tokio::test(start_paused = true)]
async fn a_spec_that_another_writer_overwrites_is_written_again_five_times() {
    for times in [1, 5] {
        assert_eq!(overwrite(times).await.1, ChangePhase::Accepted, "{times} times");
    }
    let (server, phase) = overwrite(6).await;
    assert_eq!(phase, ChangePhase::RolledBack);
    assert_eq!(message(&server), "Conflict: a commitment was changed by another writer");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_not_decided_in_time_is_undone() {
    let (server, process) = full(2).await;
    let before = picture(&server, OLD);
    let waits = CommittedResourceSpec { allow_rejection: false, ..spec(NEW, 1) };
    let _caller = process.begin(&[(NEW, Some(waits))], true);
    process.settle().await;
    assert_eq!((change(&server).phase(), reason(&server, NEW).as_str()), (ChangePhase::Applying, "Reserving"));
    process.wait(WATCH_TIMEOUT).await;
    process.settle_for_good().await;
    assert_finished(&server, ChangePhase::RolledBack);
    assert_eq!(message(&server), "timeout: 1 commitment(s) were not decided in time");
    assert!(!exists(&server, NEW));
    assert_eq!(picture(&server, OLD), before);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_decided_just_in_time_is_accepted() {
    let (server, process) = full(2).await;
    let waits = CommittedResourceSpec { allow_rejection: false, ..spec(NEW, 1) };
    let _caller = process.begin(&[(NEW, Some(waits))], true);
    process.settle().await;
    process.wait(WATCH_TIMEOUT / 2).await;
    process.checker.act_as_user(|| server.create(&seeds::host("node2", 1)).unwrap());
    process.settle_for_good().await;
    assert_finished(&server, ChangePhase::Accepted);
    assert_eq!(placed(&server, NEW).len(), 1);
}

/// A change in each of two zones, of which each has capacity for two slots.
async fn change_two_zones(here: u64, there: u64) -> (Server, [ChangePhase; 2]) {
    let clock = clock();
    let server = server(&clock, 2);
    server.create(&seeds::in_zone(seeds::host("node2", 2), seeds::OTHER_ZONE)).unwrap();
    let process = Process::start(&server, &clock);
    process.settle_for_good().await;
    let elsewhere = CommittedResourceSpec { availability_zone: seeds::OTHER_ZONE.to_owned(), ..spec(REST, there) };
    let _callers = [
        process.begin_in(testing::ZONE, "a", &[(NEW, Some(spec(NEW, here)))], true),
        process.begin_in(seeds::OTHER_ZONE, "b", &[(REST, Some(elsewhere))], true),
    ];
    process.settle_for_good().await;
    let phases = ["a", "b"].map(|name| {
        let phase = change_named(&server, name).phase();
        assert_named_finished(&server, name, phase);
        phase
    });
    (server, phases)
}

#[tokio::test(start_paused = true)]
async fn changes_of_two_zones_do_not_depend_on_each_other() {
    let phase = |slots: u64| if slots <= 2 { ChangePhase::Accepted } else { ChangePhase::RolledBack };
    for (here, there) in [(2, 2), (2, 3), (3, 2), (3, 3)] {
        let (server, phases) = change_two_zones(here, there).await;
        assert_eq!(phases, [phase(here), phase(there)], "{here} and {there} slots");
        let expected = [here, there].map(|slots| if slots <= 2 { slots } else { 0 });
        assert_eq!([NEW, REST].map(|uuid| placed(&server, uuid).len() as u64), expected);
    }
}
