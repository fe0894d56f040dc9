//! How long finished changes are kept.

use std::collections::BTreeSet;
use std::time::Duration;

use berth_cluster::{Entry, ObjectKey, Store};
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommitmentChange, facts};
use jiff::Timestamp;

/// The newest changes that were rolled back are kept, however old they are.
const KEPT_ROLLED_BACK: usize = 10;
/// The most changes that are kept.
const MOST: usize = 10_000;

/// The finished changes to delete when this one is reconciled: itself if it is old, and the oldest beyond the number. `keep` of
/// zero sets no limit of time.
pub(super) fn changes_to_delete(
    changes: &Store<CommitmentChange>,
    (key, change): (&ObjectKey, &CommitmentChange),
    keep: Duration,
    now: Timestamp,
) -> BTreeSet<ObjectKey> {
    let is_old = time_left(change, keep, now).is_some_and(|left| left.is_zero());
    let too_many = changes.len().saturating_sub(MOST);
    if !is_old && too_many == 0 {
        return BTreeSet::new();
    }
    let mut finished = changes.all();
    finished.retain(|entry| !facts::is_open(&entry.object));
    finished.sort_by_key(|entry| (finished_at(&entry.object), entry.key.clone()));
    let kept = newest_rolled_back(&finished);
    let oldest = finished.iter().take(too_many).map(|entry| entry.key.clone());
    oldest.chain(is_old.then(|| key.clone())).filter(|key| !kept.contains(key)).collect()
}

fn newest_rolled_back(finished: &[Entry<CommitmentChange>]) -> BTreeSet<ObjectKey> {
    let rolled_back = finished.iter().rev().filter(|entry| entry.object.phase() == ChangePhase::RolledBack);
    rolled_back.take(KEPT_ROLLED_BACK).map(|entry| entry.key.clone()).collect()
}

/// How long a finished change is still kept; `None` without a limit.
pub(super) fn time_left(change: &CommitmentChange, keep: Duration, now: Timestamp) -> Option<Duration> {
    let age: Duration = now.duration_since(finished_at(change)).try_into().unwrap_or_default();
    (!keep.is_zero()).then(|| keep.saturating_sub(age))
}

fn finished_at(change: &CommitmentChange) -> Timestamp {
    let finished = change.status.as_ref().and_then(|status| status.finished_at.as_ref());
    finished.or(change.metadata.creation_timestamp.as_ref()).map(|time| time.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use berth_cluster::indexes::CHANGE_INDEXES;
    use berth_cluster::testing::filled;
    use berth_core::ClusterName;
    use berth_crds::conditions::{Status, condition};
    use berth_crds::testing::{at_version, commitment_change};

    use super::*;

    const KEEP: Duration = Duration::from_secs(100);

    fn finished(number: u32, phase: ChangePhase) -> CommitmentChange {
        let mut change = at_version(number + 1, commitment_change(&format!("{number:05}"), &["uuid-1"]));
        let at = Timestamp::UNIX_EPOCH + Duration::from_secs(number.into());
        let status = change.status.get_or_insert_default();
        status.phase = phase;
        status.finished_at = Some(berth_crds::Time(at));
        status.conditions = vec![condition("Finished", Status::True, "Any", "", None, at)];
        change
    }

    fn deleted(all: Vec<CommitmentChange>, of: u32, keep: Duration, seconds: u64) -> Vec<String> {
        let store = filled(CHANGE_INDEXES, &ClusterName::home(), all);
        let key = ObjectKey::new(ClusterName::home(), format!("change-{of:05}"));
        let change = store.get(&key).unwrap();
        let now = Timestamp::UNIX_EPOCH + Duration::from_secs(seconds);
        let delete = changes_to_delete(&store, (&key, &change), keep, now);
        delete.into_iter().map(|key| key.name.to_string()).collect()
    }

    #[test]
    fn a_finished_change_is_deleted_when_it_is_old() {
        let all = || vec![finished(0, ChangePhase::Accepted), finished(1, ChangePhase::Accepted)];
        assert_eq!(deleted(all(), 0, KEEP, 99), [""; 0]);
        assert_eq!(deleted(all(), 0, KEEP, 100), ["change-00000"], "the other one when it is reconciled");
        assert_eq!(deleted(all(), 0, Duration::ZERO, 1_000_000), [""; 0], "without a limit");
    }

    #[test]
    fn the_newest_changes_that_were_rolled_back_stay() {
        let all = || (0..12).map(|number| finished(number, ChangePhase::RolledBack)).collect::<Vec<_>>();
        assert_eq!(deleted(all(), 1, KEEP, 1000), ["change-00001"]);
        assert_eq!(deleted(all(), 2, KEEP, 1000), [""; 0], "the tenth");
    }

    #[test]
    fn beyond_the_number_the_oldest_are_deleted() {
        let all = (0..10_002).map(|number| finished(number, ChangePhase::Accepted)).collect::<Vec<_>>();
        assert_eq!(deleted(all, 10_001, Duration::ZERO, 10_002), ["change-00000", "change-00001"]);
    }
}
