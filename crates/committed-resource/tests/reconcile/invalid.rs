//! Objects that do not decode are reported, and deleting them works. Dates that are too late mean "never".

use std::sync::Arc;

use berth_crds::{CommittedResource, Reservation, names};
use berth_telemetry::clock::Clock;
use berth_testkit::{Server, seeds};
use serde_json::{Value, json};

use crate::support::*;

/// The message of the condition `Invalid`.
fn invalid(server: &Server, path: &str, name: &str) -> Option<String> {
    let object = server.get_raw(path, name).unwrap();
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let invalid = conditions.iter().find(|one| one["type"] == "Invalid")?;
    assert_eq!(invalid["status"], "True");
    invalid["message"].as_str().map(str::to_owned)
}

fn commitments_path() -> String {
    berth_testkit::path_of::<CommittedResource>("")
}

async fn accepted(clock: &Arc<dyn Clock>) -> (Server, Process) {
    let server = server(clock, &[("node1", 4)], &seeds::waiting_commitment(UUID, 2));
    let process = Process::start(&server, clock);
    assert_eq!(process.settle().await, []);
    (server, process)
}

fn edit_commitment(server: &Server, spec: &Value) {
    server.edit_raw(&commitments_path(), &names::commitment(UUID), &json!({ "spec": spec })).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_ends_in_the_year_9999_is_accepted_and_never_ends() {
    let clock = clock();
    let mut object = serde_json::to_value(seeds::waiting_commitment(UUID, 2)).unwrap();
    object["spec"]["endTime"] = json!("9999-12-31T23:59:59Z");
    let server = server_with_raw(&clock, object);
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle_for_good().await, []);
    assert_accepted(&server, 2, &[("node1", 2)]);
    server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    assert_eq!(process.settle().await, []);
    assert!(server.all::<Reservation>().unwrap().is_empty());
    assert!(server.get_raw(&commitments_path(), &names::commitment(UUID)).is_err(), "it is gone");
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_does_not_decode_names_the_field_keeps_its_slots_and_is_served_again_when_it_does() {
    let clock = clock();
    let (server, process) = accepted(&clock).await;
    edit_commitment(&server, &json!({ "state": "FromTheFuture" }));
    assert_eq!(process.settle_for_good().await, []);
    let message = invalid(&server, &commitments_path(), &names::commitment(UUID)).unwrap();
    assert!(message.starts_with("the object cannot be read, correct or delete it: spec.state: "), "{message}");
    assert_eq!(server.all::<Reservation>().unwrap().len(), 2);
    edit_commitment(&server, &json!({ "state": "confirmed", "amount": seeds::slots(3) }));
    assert_eq!(process.settle_for_good().await, []);
    assert_eq!(invalid(&server, &commitments_path(), &names::commitment(UUID)), None);
    assert_accepted(&server, 3, &[("node1", 3)]);
}

/// Whether it was valid before or not, for this process.
#[tokio::test(start_paused = true)]
async fn a_commitment_that_does_not_decode_releases_its_slots_and_goes_when_it_is_deleted() {
    for restart in [false, true] {
        let clock = clock();
        let (server, mut process) = accepted(&clock).await;
        edit_commitment(&server, &json!({ "state": "FromTheFuture" }));
        assert_eq!(process.settle().await, []);
        if restart {
            process = Process::start(&server, &clock);
        }
        server.delete_raw(&commitments_path(), &names::commitment(UUID)).unwrap();
        assert_eq!(process.settle().await, []);
        assert!(server.all::<Reservation>().unwrap().is_empty(), "restart: {restart}");
        assert!(server.get_raw(&commitments_path(), &names::commitment(UUID)).is_err(), "restart: {restart}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_does_not_decode_names_the_field_until_it_does() {
    let clock = clock();
    let (server, process) = accepted(&clock).await;
    let (path, name) = (slots_path(), seeds::slot_name(UUID, 0));
    server.edit_raw(&path, &name, &json!({ "spec": { "type": "FromTheFuture" } })).unwrap();
    assert_eq!(process.settle_for_good().await, []);
    let message = invalid(&server, &path, &name).unwrap();
    assert!(message.starts_with("the object cannot be read, correct or delete it: spec.type: "), "{message}");
    server.edit_raw(&path, &name, &json!({ "spec": { "type": "CommittedResourceReservation" } })).unwrap();
    assert_eq!(process.settle_for_good().await, []);
    assert_eq!(invalid(&server, &path, &name), None);
    assert_accepted(&server, 2, &[("node1", 2)]);
}
