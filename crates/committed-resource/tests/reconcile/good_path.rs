//! Reconciliations of commitments without failures: what is written, in which order, and that it ends.

use berth_crds::{CommittedResource, Reservation, names};
use berth_testkit::{Server, seeds};
use serde_json::json;

use crate::support::*;

const HOSTS: [(&str, u64); 2] = [("node1", 2), ("node2", 2)];

/// A commitment of three slots that is accepted.
async fn accepted(clock: &std::sync::Arc<dyn berth_telemetry::clock::Clock>) -> (Server, Process) {
    let server = server(clock, &HOSTS, &seeds::waiting_commitment(UUID, 3));
    let process = Process::start(&server, clock);
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 3, &HOSTS);
    server.take_log();
    (server, process)
}

fn edit(server: &Server, patch: &serde_json::Value) {
    server.edit::<CommittedResource>(&names::commitment(UUID), patch).unwrap();
}

#[tokio::test(start_paused = true)]
async fn three_slots_are_a_finalizer_three_creates_with_hosts_and_statuses() {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 3));
    let process = Process::start(&server, &clock);
    process.reconcile().await.unwrap();
    let object = "committedresources/commitment-uuid-1";
    let create = |n: u64| format!("create reservations/commitment-uuid-1-{n}");
    let expected = [format!("patch {object}"), create(0), create(1), create(2), format!("status {object}")];
    let log = server.log();
    let hosts: Vec<_> = log[1..4].iter().map(|write| write.body["spec"]["targetHost"].as_str()).collect();
    assert!(hosts.iter().all(Option::is_some), "slots are created with their hosts: {hosts:?}");
    assert_eq!(log[0].body["metadata"]["finalizers"], json!(["reservations.cortex.cloud/release-slots"]));
    assert_eq!(server.take_log(), expected);
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 3, &HOSTS);
    let rest = server.take_log();
    let of_slots: Vec<_> = rest.iter().filter(|line| line.contains("reservations/")).collect();
    let status = |n: u64| format!("status reservations/commitment-uuid-1-{n}");
    assert_eq!(of_slots, [&status(0), &status(1), &status(2)], "two writes per slot");
    assert_eq!(rest.len(), 4, "and at most three of the commitment: {rest:?}");
    process.settle_for_good().await;
    assert_eq!(process.world.scheduler.assumed(), 0, "no entry outlives the apply");
}

#[tokio::test(start_paused = true)]
async fn releases_come_before_creates_and_the_finalizer_goes_last() {
    let clock = clock();
    let (server, process) = accepted(&clock).await;
    // In another zone the slots cannot stay: all of them are released and created again.
    for (name, free) in [("node3", 2), ("node4", 2)] {
        server.create(&seeds::in_zone(seeds::host(name, free), seeds::OTHER_ZONE)).unwrap();
    }
    edit(&server, &json!({ "spec": { "availabilityZone": seeds::OTHER_ZONE } }));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 3, &[("node1", 0), ("node2", 0), ("node3", 2), ("node4", 2)]);
    let log = server.take_log();
    let last_delete = log.iter().rposition(|line| line.starts_with("delete ")).expect("a slot was released");
    let first_create = log.iter().position(|line| line.starts_with("create ")).expect("a slot was created");
    assert!(last_delete < first_create, "{log:?}");
    server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    assert_eq!(process.settle().await, []);
    let log = server.take_log();
    assert_eq!(log.last().unwrap(), "patch committedresources/commitment-uuid-1", "{log:?}");
    assert_eq!(log.iter().filter(|line| line.starts_with("delete ")).count(), 3, "{log:?}");
    assert_eq!(server.all::<CommittedResource>().unwrap().len() + server.all::<Reservation>().unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_start_with_a_fraction_of_a_second_is_no_reason_to_write_at_each_reconciliation() {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 1));
    // Sent as JSON, because our own type writes whole seconds.
    let start = json!({ "spec": { "startTime": "2026-02-01T08:00:00.123456Z" } });
    let edited: CommittedResource = server.edit(&names::commitment(UUID), &start).unwrap();
    assert_ne!(edited.spec.start_time.unwrap().0.subsec_nanosecond(), 0);
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle_for_good().await, []);
    assert_eq!(ready(&server).reason, "Accepted");
}

#[tokio::test(start_paused = true)]
async fn superseded_and_confirmed_again_ends_accepted() {
    let clock = clock();
    let (server, process) = accepted(&clock).await;
    let (requeue_after, world) = (json!({ "spec": { "state": "confirmed" } }), process.world.clone());
    // While the second slot is being released, another client changes the commitment back.
    server.before(berth_testkit::Verb::Delete, &slots_path(), 2, move |server| {
        edit(server, &requeue_after);
        world.deliver().unwrap();
    });
    edit(&server, &json!({ "spec": { "state": "superseded" } }));
    process.settle().await;
    assert_accepted(&server, 3, &HOSTS);
    assert_eq!(commitment(&server).metadata.generation, Some(3));
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_cannot_go_keeps_the_finalizer_of_its_commitment_until_it_is_gone() {
    let clock = clock();
    let (server, process) = accepted(&clock).await;
    let held = seeds::slot_name(UUID, 1);
    server.edit::<Reservation>(&held, &json!({ "metadata": { "finalizers": ["somebody.else/keeps"] } })).unwrap();
    server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    process.settle().await;
    let object = commitment(&server);
    assert_eq!(object.metadata.finalizers.unwrap_or_default(), ["reservations.cortex.cloud/release-slots"]);
    assert_eq!(ready(&server).reason, "Releasing");
    assert_eq!(slots_and_hosts(&server).len(), 1);
    server.take_log();
    process.enqueue_all();
    process.settle().await;
    assert_eq!(server.take_log(), [""; 0], "waiting writes nothing");
    server.edit::<Reservation>(&held, &json!({ "metadata": { "finalizers": null } })).unwrap();
    process.settle().await;
    assert_eq!(server.all::<CommittedResource>().unwrap(), []);
}
