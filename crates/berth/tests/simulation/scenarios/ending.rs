//! Commitments end, are deferred or deleted: their capacity is released.

use berth_crds::CommittedResource;
use berth_crds::conditions::whole_seconds;
use berth_testkit::seeds;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::acts::{commit, delete, edit, hosts, time_passes};
use super::ends::{gone, holds, is_reported};
use super::scenario::Scenario;
use crate::world::BEGINNING;

pub fn scenarios() -> Vec<Scenario> {
    vec![expiry(), supersede(), back_to_planned(), deleted(), deleted_while_placing()]
}

fn expiry() -> Scenario {
    let end = 300;
    placed("expiry", ending_after("uuid-1", 3, end))
        .at(f64::from(end), time_passes())
        .ends(is_reported("uuid-1", "expired"))
        .ends(holds("uuid-1", 0))
}

/// A commitment that ends this many seconds after the start.
fn ending_after(uuid: &str, slots: u64, seconds: u32) -> CommittedResource {
    let beginning: Timestamp = BEGINNING.parse().unwrap();
    let mut commitment = seeds::waiting_commitment(uuid, slots);
    commitment.spec.end_time = Some(whole_seconds(beginning + SignedDuration::from_secs(seconds.into())));
    commitment
}

fn supersede() -> Scenario {
    placed("supersede", seeds::waiting_commitment("uuid-1", 3))
        .at(60.0, edit("uuid-1", &json!({ "state": "superseded" })))
        .ends(is_reported("uuid-1", "superseded"))
        .ends(holds("uuid-1", 0))
}

fn back_to_planned() -> Scenario {
    placed("back-to-planned", seeds::waiting_commitment("uuid-1", 3))
        .at(60.0, edit("uuid-1", &json!({ "state": "planned" })))
        .ends(is_reported("uuid-1", "Planned"))
        .ends(holds("uuid-1", 0))
}

fn deleted() -> Scenario {
    placed("delete", seeds::waiting_commitment("uuid-1", 3)).at(60.0, delete("uuid-1")).ends(gone("uuid-1"))
}

/// Some of its slots exist, others are being created.
fn deleted_while_placing() -> Scenario {
    placed("delete-while-placing", seeds::waiting_commitment("uuid-1", 4))
        .at(1.12, delete("uuid-1"))
        .ends(gone("uuid-1"))
}

fn placed(name: &'static str, commitment: CommittedResource) -> Scenario {
    Scenario::new(name).with(hosts(&[("h1", 2), ("h2", 2)])).at(1.0, commit(commitment))
}
