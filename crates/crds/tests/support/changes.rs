//! Changes of commitments that an API server accepts or rejects.

use serde_json::{Value, json};

use super::cases::{Act, Case, create, refused, status, taken, update};
use super::edit::{remove, set};

const CHANGE: &str = "commitment_change";
const UUID: &str = "6b0f3a52-9d41-4c7e-8a15-2f60c1d7e904";

fn text(length: usize) -> String {
    "a".repeat(length)
}

/// So many items without a former state.
fn items(count: usize) -> Act {
    let items: Vec<Value> = (0..count).map(|number| json!({ "commitmentUUID": format!("uuid-{number}") })).collect();
    create([set("/spec/items", items)])
}

pub fn legitimate() -> Vec<Case> {
    vec![
        taken("change", CHANGE, status([])),
        taken("change of many commitments", CHANGE, items(1000)),
        taken("change that gets a label", CHANGE, update([], [set("/metadata/labels/a", "b")])),
        taken(
            "change of a commitment that was stored before the bounds",
            CHANGE,
            create([
                set("/spec/items/0/before/spec/projectID", text(200)),
                set("/spec/items/0/before/acceptedSpec/amount", "-5Gi"),
                set("/spec/items/1/after/domainID", text(200)),
            ]),
        ),
        taken("large change", CHANGE, create([set("/spec/slotsGzip", text(1_000_000))])),
        taken("change without outcomes", CHANGE, status([remove("/status/items")])),
    ]
}

pub fn invalid() -> Vec<Case> {
    [of_the_spec(), updates(), of_the_status()].concat()
}

fn of_the_spec() -> Vec<Case> {
    vec![
        refused("change without items", CHANGE, items(0), "spec.items"),
        refused("change of too many commitments", CHANGE, items(1001), "spec.items"),
        refused("change of no count", CHANGE, create([set("/spec/itemCount", 0)]), "spec.itemCount"),
        refused("change without a zone", CHANGE, create([set("/spec/availabilityZone", "")]), "spec.availabilityZone"),
        refused("change of no UUID", CHANGE, create([set("/spec/items/0/commitmentUUID", "")]), "commitmentUUID"),
        refused(
            "change of a long UUID",
            CHANGE,
            create([set("/spec/items/0/commitmentUUID", text(41))]),
            "commitmentUUID",
        ),
        refused("change without a deadline", CHANGE, create([remove("/spec/deadline")]), "spec.deadline"),
        refused("change with a date", CHANGE, create([set("/spec/deadline", "2026-03-02")]), "spec.deadline"),
        refused(
            "change without an answer",
            CHANGE,
            create([remove("/spec/requiresConfirmation")]),
            "spec.requiresConfirmation",
        ),
        refused("change of a long request", CHANGE, create([set("/spec/requestID", text(254))]), "spec.requestID"),
        refused(
            "change without the former generation",
            CHANGE,
            create([remove("/spec/items/0/before/generation")]),
            "before.generation",
        ),
        refused(
            "change to an unknown state",
            CHANGE,
            create([set("/spec/items/1/after/state", "active")]),
            "after.state",
        ),
        refused("slot without a name", CHANGE, create([remove("/spec/items/0/slots/0/name")]), "slots[0].name"),
    ]
}

fn updates() -> Vec<Case> {
    let former = json!({ "commitmentUUID": UUID });
    vec![
        refused("another request", CHANGE, update([], [set("/spec/requestID", "other")]), "cannot be changed"),
        refused("another item", CHANGE, update([], [set("/spec/items/0", former)]), "cannot be changed"),
        refused(
            "another former amount",
            CHANGE,
            update([], [set("/spec/items/0/before/spec/amount", "1Gi")]),
            "cannot be changed",
        ),
        refused("former slots lost", CHANGE, update([], [remove("/spec/slotsGzip")]), "cannot be changed"),
        refused(
            "later deadline",
            CHANGE,
            update([], [set("/spec/deadline", "2026-03-02T11:20:10.250002Z")]),
            "cannot be changed",
        ),
    ]
}

fn of_the_status() -> Vec<Case> {
    let finished = json!({ "type": "Finished", "status": "True", "reason": "Accepted", "message": "",
                           "lastTransitionTime": "2026-03-02T11:20:10Z" });
    let again = json!({ "commitmentUUID": UUID, "step": "undone", "outcome": "rejected" });
    vec![
        refused("unknown phase", CHANGE, status([set("/status/phase", "Applied")]), "status.phase"),
        refused("no phase", CHANGE, status([remove("/status/phase")]), "status.phase"),
        refused("unknown step", CHANGE, status([set("/status/items/0/step", "done")]), "status.items[0].step"),
        refused("unknown outcome", CHANGE, status([set("/status/items/0/outcome", "")]), "status.items[0].outcome"),
        refused("item twice", CHANGE, status([set("/status/items/1", again)]), "status.items[1]"),
        refused("finished twice", CHANGE, status([set("/status/conditions/1", finished)]), "status.conditions[1]"),
        refused("long outcome", CHANGE, status([set("/status/message", text(32_769))]), "status.message"),
    ]
}
