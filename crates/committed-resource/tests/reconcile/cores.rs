//! Reconciliations of commitments of cores: what is written, what fails, and that no core is given out twice in the
//! meantime.

use std::sync::Arc;

use berth_cluster::{ObjectKey, Reconciler as _};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Condition, FlavorGroupCapacity, Reservation, conditions, names, testing};
use berth_telemetry::clock::Clock;
use berth_testkit::{Fault, Server, Verb, path_of, seeds};
use serde_json::json;

use crate::support::{Process, clock};

/// A server with this many cores and these commitments.
fn server(clock: &Arc<dyn Clock>, total: u64, commitments: &[CommittedResource]) -> Server {
    let server = Server::new(clock.clone());
    server.create(&seeds::flavor_groups(clock.now())).unwrap();
    server.create(&seeds::capacity(testing::ZONE, total)).unwrap();
    for commitment in commitments {
        server.create(commitment).unwrap();
    }
    server
}

fn rejectable(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = seeds::cores(uuid, count);
    commitment.spec.allow_rejection = true;
    commitment
}

fn get(server: &Server, uuid: &str) -> CommittedResource {
    server.get(&names::commitment(uuid)).unwrap()
}

fn ready(server: &Server, uuid: &str) -> Condition {
    let status = get(server, uuid).status.expect("the commitment has no status");
    conditions::ready(&status.conditions).expect("the commitment has no condition").clone()
}

fn reason(server: &Server, uuid: &str) -> String {
    ready(server, uuid).reason
}

fn key(uuid: &str) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), names::commitment(uuid))
}

fn path(uuid: &str) -> String {
    path_of::<CommittedResource>(&names::commitment(uuid))
}

fn edit(server: &Server, uuid: &str, spec: &serde_json::Value) {
    server.edit::<CommittedResource>(&names::commitment(uuid), &json!({ "spec": spec })).unwrap();
}

fn total(server: &Server, cores: u64) {
    let name = names::flavor_group_capacity(testing::GROUP, testing::ZONE);
    server.edit_status::<FlavorGroupCapacity>(&name, &seeds::total_of_cores(cores)).unwrap();
}

fn accepted(server: &Server) -> i64 {
    let all: Vec<CommittedResource> = server.all().unwrap();
    let specs = all.into_iter().filter_map(|object| object.status?.accepted_spec);
    specs.map(|spec| spec.amount.as_str().parse::<i64>().unwrap()).sum()
}

#[tokio::test(start_paused = true)]
async fn cores_are_one_write_and_neither_slots_nor_a_finalizer() {
    let clock = clock();
    let server = server(&clock, 100, &[seeds::cores("uuid-1", 100)]);
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    assert_eq!(server.take_log(), ["status committedresources/commitment-uuid-1"]);
    process.settle_for_good().await;
    assert_eq!(reason(&server, "uuid-1"), "Accepted");
    let object = get(&server, "uuid-1");
    assert_eq!(object.status.unwrap().accepted_spec.as_ref(), Some(&object.spec));
    assert_eq!(object.metadata.finalizers, None);
    assert_eq!(server.all::<Reservation>().unwrap(), []);
    assert!(process.commitments.context().cores.is_empty());
}

#[tokio::test(start_paused = true)]
async fn of_two_for_one_headroom_one_is_accepted_and_the_other_when_it_grows() {
    let clock = clock();
    let server = server(&clock, 100, &[seeds::cores("uuid-1", 60), seeds::cores("uuid-2", 60)]);
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    assert_eq!((reason(&server, "uuid-1"), reason(&server, "uuid-2")), ("Accepted".into(), "Reserving".into()));
    assert_eq!(ready(&server, "uuid-2").message, "insufficient CPU cores: 40 available, 60 requested");
    total(&server, 119);
    process.settle().await;
    assert_eq!(ready(&server, "uuid-2").message, "insufficient CPU cores: 59 available, 60 requested");
    total(&server, 120);
    process.settle().await;
    assert_eq!(reason(&server, "uuid-2"), "Accepted", "without waiting for the back-off");
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn cores_that_others_give_up_go_to_who_waits() {
    type Act = fn(&Server);
    let gives_up: [(&str, Act); 5] = [
        ("deleted", |server| server.delete::<CommittedResource>(&names::commitment("uuid-1")).unwrap()),
        ("smaller", |server| edit(server, "uuid-1", &json!({ "amount": "40" }))),
        ("elsewhere", |server| edit(server, "uuid-1", &json!({ "availabilityZone": seeds::OTHER_ZONE }))),
        ("superseded", |server| edit(server, "uuid-1", &json!({ "state": "superseded" }))),
        ("planned", |server| edit(server, "uuid-1", &json!({ "state": "planned" }))),
    ];
    for (how, act) in gives_up {
        let clock = clock();
        let server = server(&clock, 100, &[seeds::cores("uuid-1", 60), seeds::cores("uuid-2", 60)]);
        server.create(&seeds::capacity(seeds::OTHER_ZONE, 100)).unwrap();
        let process = Process::start(&server, &clock);
        process.settle().await;
        assert_eq!(reason(&server, "uuid-2"), "Reserving", "{how}");
        act(&server);
        assert_eq!(process.settle().await, [], "{how}");
        assert_eq!(reason(&server, "uuid-2"), "Accepted", "{how}");
        process.settle_for_good().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_commitment_is_noticed_and_frees_its_cores() {
    let clock = clock();
    let mut first = seeds::cores("uuid-1", 60);
    first.spec.end_time = Some(berth_crds::Time(clock.now() + jiff::SignedDuration::from_secs(10)));
    let server = server(&clock, 100, &[first, seeds::cores("uuid-2", 60)]);
    let process = Process::start(&server, &clock);
    process.settle().await;
    assert_eq!(reason(&server, "uuid-2"), "Reserving");
    tokio::time::sleep(std::time::Duration::from_secs(11)).await;
    // The requeue.
    process.commitments.reconcile(key("uuid-1")).await.unwrap();
    process.settle().await;
    assert_eq!((reason(&server, "uuid-1"), reason(&server, "uuid-2")), ("expired".into(), "Accepted".into()));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_stays_when_cores_become_free_and_goes_with_another_spec() {
    let clock = clock();
    let server = server(&clock, 100, &[rejectable("uuid-1", 101)]);
    let process = Process::start(&server, &clock);
    process.settle_for_good().await;
    assert_eq!(reason(&server, "uuid-1"), "Rejected");
    total(&server, 200);
    process.enqueue_all();
    process.settle().await;
    assert_eq!(reason(&server, "uuid-1"), "Rejected");
    edit(&server, "uuid-1", &json!({ "amount": "150" }));
    process.settle().await;
    assert_eq!(reason(&server, "uuid-1"), "Accepted");
}

#[tokio::test(start_paused = true)]
async fn growth_is_rejected_and_what_was_accepted_before_stays_accepted() {
    let clock = clock();
    let server = server(&clock, 100, &[rejectable("uuid-1", 60), seeds::cores("uuid-2", 30)]);
    let process = Process::start(&server, &clock);
    process.settle().await;
    edit(&server, "uuid-1", &json!({ "amount": "80" }));
    process.settle_for_good().await;
    let condition = ready(&server, "uuid-1");
    let text = "insufficient CPU cores: 70 available, 80 requested";
    assert_eq!((condition.reason.as_str(), condition.message.as_str()), ("Rejected", text));
    assert_eq!(accepted(&server), 90, "60 still count");
    edit(&server, "uuid-1", &json!({ "amount": "60" }));
    process.settle().await;
    assert_eq!(reason(&server, "uuid-1"), "Accepted");
}

#[tokio::test(start_paused = true)]
async fn a_total_that_shrinks_takes_nothing_back() {
    let clock = clock();
    let server = server(&clock, 100, &[rejectable("uuid-1", 60)]);
    let process = Process::start(&server, &clock);
    process.settle().await;
    total(&server, 10);
    process.enqueue_all();
    process.settle_for_good().await;
    assert_eq!(reason(&server, "uuid-1"), "Accepted");
    edit(&server, "uuid-1", &json!({ "amount": "50", "endTime": "2027-01-01T00:00:00Z" }));
    process.settle().await;
    assert_eq!((reason(&server, "uuid-1"), accepted(&server)), ("Accepted".to_owned(), 50));
    edit(&server, "uuid-1", &json!({ "amount": "51" }));
    process.settle().await;
    assert_eq!(ready(&server, "uuid-1").message, "insufficient CPU cores: 10 available, 51 requested");
}

#[tokio::test(start_paused = true)]
async fn a_failed_status_is_written_by_the_next_reconciliation_and_no_core_is_lost() {
    for fault in [Fault::Conflict, Fault::Forbidden, Fault::Internal, Fault::LoseAnswer, Fault::Hang] {
        let clock = clock();
        let server = server(&clock, 100, &[seeds::cores("uuid-1", 60), seeds::cores("uuid-2", 40)]);
        let process = Process::start(&server, &clock);
        server.fail(Verb::PatchStatus, &path("uuid-1"), 1, fault);
        process.world.deliver().unwrap();
        process.commitments.reconcile(key("uuid-1")).await.unwrap_err();
        assert_eq!(process.settle().await, [], "{fault:?}");
        assert_eq!((reason(&server, "uuid-1"), reason(&server, "uuid-2")), ("Accepted".into(), "Accepted".into()));
        process.settle_for_good().await;
        assert!(process.commitments.context().cores.is_empty(), "{fault:?}");
    }
}

/// The status of the first is in doubt while the second asks for the same cores.
async fn in_doubt(fault: Fault, took_effect: bool) {
    let clock = clock();
    let server = server(&clock, 100, &[seeds::cores("uuid-1", 60), rejectable("uuid-2", 60)]);
    let process = Process::start(&server, &clock);
    server.fail(Verb::PatchStatus, &path("uuid-1"), 1, fault);
    process.commitments.reconcile(key("uuid-1")).await.unwrap_err();
    assert!(!process.commitments.context().cores.is_empty(), "its cores count as taken until it is read again");
    process.commitments.reconcile(key("uuid-2")).await.unwrap();
    let condition = ready(&server, "uuid-2");
    let text = "insufficient CPU cores: 40 available, 60 requested";
    assert_eq!((condition.reason.as_str(), condition.message.as_str()), ("Reserving", text), "not rejected yet");
    assert_eq!(accepted(&server), if took_effect { 60 } else { 0 });
    assert_eq!(process.settle().await, []);
    assert_eq!((reason(&server, "uuid-1"), reason(&server, "uuid-2")), ("Accepted".into(), "Rejected".into()));
    assert!(process.commitments.context().cores.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_acceptance_whose_answer_was_lost_counts() {
    in_doubt(Fault::LoseAnswer, true).await;
}

#[tokio::test(start_paused = true)]
async fn an_acceptance_of_unknown_outcome_counts_until_it_was_read_again() {
    in_doubt(Fault::Internal, false).await;
    in_doubt(Fault::Hang, false).await;
}

#[tokio::test(start_paused = true)]
async fn cores_of_a_commitment_that_went_away_in_doubt_are_given_out_again() {
    let clock = clock();
    let server = server(&clock, 100, &[seeds::cores("uuid-1", 60), seeds::cores("uuid-2", 60)]);
    let process = Process::start(&server, &clock);
    server.fail(Verb::PatchStatus, &path("uuid-1"), 1, Fault::LoseAnswer);
    process.commitments.reconcile(key("uuid-1")).await.unwrap_err();
    process.commitments.reconcile(key("uuid-2")).await.unwrap();
    assert_eq!(reason(&server, "uuid-2"), "Reserving");
    server.delete::<CommittedResource>(&names::commitment("uuid-1")).unwrap();
    process.settle().await;
    assert_eq!(reason(&server, "uuid-2"), "Accepted");
    assert!(process.commitments.context().cores.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_reconciliation_that_is_cut_off_while_it_writes_keeps_its_cores_until_it_was_read_again() {
    let clock = clock();
    let server = server(&clock, 100, &[seeds::cores("uuid-1", 60), seeds::cores("uuid-2", 60)]);
    let process = Process::start(&server, &clock);
    server.fail(Verb::PatchStatus, &path("uuid-1"), 1, Fault::Hang);
    let cut = std::time::Duration::from_secs(1);
    assert!(tokio::time::timeout(cut, process.commitments.reconcile(key("uuid-1"))).await.is_err());
    assert!(!process.commitments.context().cores.is_empty());
    process.settle().await;
    assert_eq!((reason(&server, "uuid-1"), reason(&server, "uuid-2")), ("Accepted".into(), "Reserving".into()));
    assert!(process.commitments.context().cores.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_decided_for_one_spec_is_not_written_for_another() {
    let clock = clock();
    let server = server(&clock, 100, &[seeds::cores("uuid-1", 60)]);
    let process = Process::start(&server, &clock);
    // The spec grows while the acceptance is on its way: the API server sees the change first.
    server.before(Verb::PatchStatus, &path("uuid-1"), 1, |server| edit(server, "uuid-1", &json!({ "amount": "500" })));
    process.commitments.reconcile(key("uuid-1")).await.unwrap();
    let object = get(&server, "uuid-1");
    let status = object.status.unwrap();
    assert_eq!(status.accepted_spec.unwrap().amount.as_str(), "60");
    assert_eq!(conditions::ready(&status.conditions).unwrap().observed_generation, Some(1));
    process.settle().await;
    assert_eq!(ready(&server, "uuid-1").message, "insufficient CPU cores: 100 available, 500 requested");
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_any_two_writes_gives_no_core_out_twice() {
    let three = || [seeds::cores("uuid-1", 60), seeds::cores("uuid-2", 30), seeds::cores("uuid-3", 30)];
    for writes in 0..=3 {
        let clock = clock();
        let server = server(&clock, 100, &three());
        let first = Process::start(&server, &clock);
        server.stop_after(writes);
        tokio::select! {
            biased;
            () = server.stopped() => {}
            _ = first.settle() => panic!("fewer than {writes} writes"),
        }
        drop(first);
        server.heal();
        assert!(accepted(&server) <= 100, "after {writes} writes");
        let second = Process::start(&server, &clock);
        assert_eq!(second.settle().await, [], "after {writes} writes");
        assert_eq!(accepted(&server), 90, "after {writes} writes");
        second.settle_for_good().await;
    }
}
