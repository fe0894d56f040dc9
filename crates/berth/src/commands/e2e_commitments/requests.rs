//! The requests of the checks, in the form of LIQUID.

use jiff::Timestamp;
use serde_json::{Value, json};

/// Where a check sells commitments, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) zone: String,
    pub(super) resource: String,
    pub(super) project: String,
    /// The version of the service info that the requests are about.
    pub(super) info_version: i64,
}

/// A commitment of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commitment {
    pub(super) uuid: String,
    pub(super) expires_at: Timestamp,
}

const PENDING: &str = "pending";
const CONFIRMED: &str = "confirmed";

pub(super) fn dry_run(place: &Place, commitment: &Commitment) -> Value {
    request(place, true, (0, 2), &[commitment.change(None, Some(CONFIRMED), 2)])
}

pub(super) fn create(place: &Place, commitment: &Commitment) -> Value {
    request(place, false, (0, 2), &[commitment.change(None, Some(CONFIRMED), 2)])
}

pub(super) fn delete(place: &Place, commitment: &Commitment) -> Value {
    request(place, false, (2, 0), &[commitment.change(Some(CONFIRMED), None, 2)])
}

/// Creates the first commitment of a batch, which nobody confirms yet.
pub(super) fn create_pending(place: &Place, first: &Commitment) -> Value {
    request(place, false, (0, 0), &[first.change(None, Some(PENDING), 1)])
}

/// Confirms the first commitment with another amount, and creates the second one.
pub(super) fn confirm_batch(place: &Place, first: &Commitment, second: &Commitment) -> Value {
    let changes = [first.change(Some(PENDING), Some(CONFIRMED), 3), second.change(None, Some(CONFIRMED), 1)];
    request(place, false, (0, 4), &changes)
}

pub(super) fn delete_pending(place: &Place, first: &Commitment) -> Value {
    request(place, false, (0, 0), &[first.change(Some(PENDING), None, 1)])
}

pub(super) fn delete_batch(place: &Place, first: &Commitment, second: &Commitment) -> Value {
    let changes = [first.change(Some(CONFIRMED), None, 3), second.change(Some(CONFIRMED), None, 1)];
    request(place, false, (4, 0), &changes)
}

impl Commitment {
    fn change(&self, old: Option<&str>, new: Option<&str>, amount: u64) -> Value {
        json!({
            "uuid": self.uuid, "oldStatus": old, "newStatus": new, "amount": amount, "expiresAt": self.expires_at
        })
    }
}

/// `confirmed` has the totals before and after.
fn request(place: &Place, dry_run: bool, confirmed: (u64, u64), commitments: &[Value]) -> Value {
    let changeset = json!({
        "totalConfirmedBefore": confirmed.0, "totalConfirmedAfter": confirmed.1,
        "totalGuaranteedBefore": 0, "totalGuaranteedAfter": 0,
        "commitments": commitments,
    });
    json!({
        "az": place.zone, "dryRun": dry_run, "infoVersion": place.info_version,
        "byProject": { &place.project: { "byResource": { &place.resource: changeset } } },
    })
}
