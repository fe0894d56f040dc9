//! How long finished changes are kept.

use std::collections::BTreeSet;
use std::time::Duration;

use berth_cluster::{Entry, ObjectKey};
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommitmentChange, facts};
use jiff::Timestamp;

/// The newest changes that were rolled back are kept, however old they are.
const KEPT_ROLLED_BACK: usize = 10;
/// The most finished changes that are kept.
const MOST: usize = 10_000;

/// The finished changes to delete now. `keep` of zero sets no limit of time.
pub(super) fn changes_to_delete(
    all: &[Entry<CommitmentChange>],
    keep: Duration,
    now: Timestamp,
) -> BTreeSet<ObjectKey> {
    let mut finished: Vec<_> = all.iter().filter(|entry| !facts::is_open(&entry.object)).collect();
    finished.sort_by_key(|entry| (finished_at(&entry.object), entry.key.clone()));
    let rolled_back = finished.iter().rev().filter(|entry| entry.object.phase() == ChangePhase::RolledBack);
    let kept: BTreeSet<_> = rolled_back.take(KEPT_ROLLED_BACK).map(|entry| entry.key.clone()).collect();
    let too_many = finished.len().saturating_sub(MOST);
    let is_old = |entry: &Entry<CommitmentChange>| {
        let age: Duration = now.duration_since(finished_at(&entry.object)).try_into().unwrap_or_default();
        !keep.is_zero() && age >= keep
    };
    let delete = finished.iter().enumerate().filter(|(place, entry)| *place < too_many || is_old(entry));
    delete.map(|(_, entry)| entry.key.clone()).filter(|key| !kept.contains(key)).collect()
}

/// How long a finished change is still kept.
pub(super) fn time_left(change: &CommitmentChange, keep: Duration, now: Timestamp) -> Option<Duration> {
    let age: Duration = now.duration_since(finished_at(change)).try_into().unwrap_or_default();
    (!keep.is_zero()).then(|| keep.saturating_sub(age))
}

fn finished_at(change: &CommitmentChange) -> Timestamp {
    let finished = change.status.as_ref().and_then(|status| status.finished_at.as_ref());
    finished.or(change.metadata.creation_timestamp.as_ref()).map(|time| time.0).unwrap_or_default()
}
