//! Objects that were stored before our CRDs are still served: each one accepts a status write, our finalizer, its
//! removal and deletion, whatever is wrong with it.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use std::time::Duration;

use berth_crds::{generate, labels};
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::time::sleep;

use support::cases::{Act, Case};
use support::edit::edited;
use support::server::{Server, name};
use support::{beyond, example};

/// The object of a case under a unique name. The names violate the rules about names, which is part of the test.
fn old_object(number: usize, case: &Case) -> Option<Value> {
    let edits = match &case.act {
        Act::Create(edits) | Act::Status(edits) => edits,
        Act::Update(..) => return None,
    };
    let mut object = edited(example(case.base), edits);
    object["metadata"]["name"] = json!(format!("old-{number}"));
    Some(object)
}

/// Stores an object and its status in a server without our rules.
async fn store(server: &Server, object: &Value) -> Result<(), kube::Error> {
    let stored = server.create(object).await?;
    let mut with_status = json!(stored);
    with_status["status"] = object["status"].clone();
    server.replace_status(&with_status).await.map(drop)
}

/// Waits until the rules of all our kinds are in effect.
async fn until_in_force(server: &Server) {
    for row in ["UUID too short", "disk in resources", "capacity without a group", "quota below 0"] {
        let cases = beyond::counter_examples();
        let (number, case) = cases.iter().enumerate().find(|(_, case)| case.row == row).unwrap();
        let object = old_object(number, case).unwrap();
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let probe = serde_json::from_value(edited(object, &[support::edit::set("/metadata/name", "probe")])).unwrap();
        while server.api(&example(case.base)).create(&dry_run, &probe).await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A field of the status that a controller writes without changing conditions.
fn other_status(object: &Value) -> Value {
    match object["kind"].as_str().unwrap() {
        "CommittedResource" => json!({ "acceptedSpec": object["spec"], "statusSummary": "Accepted" }),
        "Reservation" => json!({ "host": "node017-bb210" }),
        "FlavorGroupCapacity" => json!({ "runningUnits": 3 }),
        "ProjectQuota" => json!({ "observedGeneration": 1 }),
        "Hypervisor" => json!({ "evicted": false }),
        "Knowledge" => json!({ "rawLength": 3 }),
        _ => json!({ "numberOfObjects": 3 }),
    }
}

fn ready() -> Value {
    json!([{ "type": "Ready", "status": "True", "reason": "Accepted", "message": "",
             "lastTransitionTime": "2026-03-02T08:00:00Z" }])
}

fn finalizers(names: &[&str]) -> Value {
    json!({ "metadata": { "finalizers": names } })
}

/// All writes of a controller to an object, until it is deleted. Returns the step that failed.
async fn serve(server: &Server, object: &Value) -> Result<(), (&'static str, kube::Error)> {
    let step = |name: &'static str| move |error| (name, error);
    let ours = finalizers(&[labels::RELEASE_SLOTS]);
    server.patch_status(object, json!({ "status": other_status(object) })).await.map_err(step("status"))?;
    server.patch_status(object, json!({ "status": { "conditions": ready() } })).await.map_err(step("condition"))?;
    server.patch(object, ours.clone()).await.map_err(step("finalizer"))?;
    server.patch(object, finalizers(&[])).await.map_err(step("removal of the finalizer"))?;
    server.patch(object, ours).await.map_err(step("finalizer again"))?;
    server.delete(object).await.map_err(step("deletion"))?;
    server.patch_status(object, json!({ "status": { "conditions": ready() } })).await.map_err(step("last status"))?;
    server.patch(object, finalizers(&[])).await.map_err(step("release")).map(drop)
}

/// Whether a single field is wrong, so that other fields can still be changed.
fn wrong_in_one_field(case: &Case) -> bool {
    case.base == "committed_resource"
        && ["empty ", "ironcore", "UUID ", "domain in", "long "].iter().any(|row| case.row.starts_with(row))
}

/// What Limes or a controller writes into the spec of an object that has another fault.
fn change_beside_the_fault(case: &Case) -> Option<Value> {
    let in_slot =
        json!({ "spec": { "targetHost": "node2", "committedResourceReservation": { "parentGeneration": 9 } } });
    match case.row {
        "end before the start" => Some(json!({ "spec": { "state": "expired" } })),
        "slot that ends before its start"
        | "slot without a flavor"
        | "slot without a group"
        | "slot without a project" => Some(in_slot),
        _ if wrong_in_one_field(case) => Some(json!({ "spec": { "endTime": "2028-03-01T00:00:00Z" } })),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_objects_are_served_to_the_end() {
    let server = Server::start(generate::without_rules()).await;
    let cases = [beyond::surprising(), beyond::counter_examples()].concat();
    let mut failures = Vec::new();
    let mut stored = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let Some(object) = old_object(number, case) else { continue };
        match store(&server, &object).await {
            Ok(()) => stored.push((case, object)),
            Err(error) => failures.push(format!("{}: was not stored: {error}", case.row)),
        }
    }
    assert!(stored.len() > 60, "{} objects stored", stored.len());
    server.apply(generate::all()).await;
    until_in_force(&server).await;
    for (case, object) in &stored {
        if let Some(change) = change_beside_the_fault(case) {
            let answer = server.patch(object, change).await;
            failures.extend(answer.err().map(|error| format!("{}: spec: {error}", case.row)));
        }
        let answer = serve(&server, object).await;
        failures.extend(answer.err().map(|(step, error)| format!("{}: {step}: {error}", case.row)));
        if server.has(object).await {
            failures.push(format!("{}: {} is still there", case.row, name(object)));
        }
    }
    assert!(failures.is_empty(), "{} of {} objects:\n{}", failures.len(), stored.len(), failures.join("\n"));
}
