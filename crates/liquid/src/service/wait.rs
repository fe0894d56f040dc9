//! Waits for the end of a change, as the watch shows it.

use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_core::ClusterName;
use berth_crds::commitment_change::{ChangeOutcome, ChangePhase};
use berth_crds::conditions::commitment_change as texts;
use berth_crds::{CommitmentChange, facts};
use jiff::Timestamp;
use tokio::time::{Instant, timeout, timeout_at};

use super::ChangeService;

/// How long the answer waits until nothing is left to do, so that the next request for these commitments finds no open change.
const FOR_COMPLETION: Duration = Duration::from_secs(1);
/// How long the answer waits until a change is undone, from when its undoing began.
const FOR_ROLL_BACK: Duration = Duration::from_secs(5);
/// How long after the deadline the controller may take to notice it.
const SPARE: Duration = Duration::from_secs(5);

/// Until when a request has its outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) instant: Instant,
    pub(super) time: Timestamp,
}

/// How a change has ended for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Accepted,
    /// With the reason.
    Rejected(String),
    /// With the number of commitments that were waited for.
    Timeout(usize),
    /// Everything is as before because another writer has changed a commitment.
    Conflict,
    /// Somebody has deleted it, or the process that executed it has ended.
    Stopped,
    /// The API server does not take an object.
    Refused,
    /// It was not decided, or not undone in time to be tried again.
    Unknown,
}

impl ChangeService {
    pub(super) async fn wait_for_end(&self, name: &str, deadline: Deadline) -> Ended {
        let key = ObjectKey::new(ClusterName::home(), name);
        let decided = self.wait_for(&key, |change| !is_undecided(change.phase()));
        if timeout_at(deadline.instant + SPARE, decided).await.is_err() {
            return Ended::Unknown;
        }
        match self.phase(&key) {
            Some(ChangePhase::Accepted) => {
                // Elapsed: the rest is done later.
                let _ = timeout(FOR_COMPLETION, self.wait_for(&key, |change| !facts::is_open(change))).await;
                Ended::Accepted
            }
            Some(_) => self.wait_for_roll_back(&key, deadline.instant).await,
            None => Ended::Stopped,
        }
    }

    async fn wait_for_roll_back(&self, key: &ObjectKey, deadline: Instant) -> Ended {
        let Some(ended) = self.context.changes.store().get(key).map(|change| ended(&change)) else {
            return Ended::Stopped;
        };
        let undone = self.wait_for(key, |change| matches!(change.phase(), ChangePhase::RolledBack));
        let is_undone = timeout(FOR_ROLL_BACK, undone).await.is_ok();
        // Only a change that is undone can be tried again.
        if ended == Ended::Conflict && (!is_undone || Instant::now() >= deadline) { Ended::Unknown } else { ended }
    }

    /// Waits until this holds of the change, or it is gone.
    async fn wait_for(&self, key: &ObjectKey, holds: impl Fn(&CommitmentChange) -> bool) {
        self.context.changes.store().wait_until(|changes| changes.get(key).is_none_or(|change| holds(&change))).await;
    }

    fn phase(&self, key: &ObjectKey) -> Option<ChangePhase> {
        self.context.changes.store().get(key).map(|change| change.phase())
    }
}

fn is_undecided(phase: ChangePhase) -> bool {
    matches!(phase, ChangePhase::Pending | ChangePhase::Applying)
}

/// Why a change is undone, from its status.
fn ended(change: &CommitmentChange) -> Ended {
    let status = change.status.clone().unwrap_or_default();
    let message = status.message.unwrap_or_default();
    if status.items.iter().any(|item| item.outcome == ChangeOutcome::Rejected) {
        return Ended::Rejected(message);
    }
    if let Some(rest) = message.strip_prefix(texts::TIMEOUT) {
        let digits: String =
            rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        return Ended::Timeout(digits.parse().unwrap_or(change.spec.items.len()));
    }
    match message.as_str() {
        text if text.starts_with(texts::CONFLICT) => Ended::Conflict,
        text if STOPS.contains(&text) => Ended::Stopped,
        _ => Ended::Refused,
    }
}

/// Messages of changes that were stopped from outside.
const STOPS: [&str; 3] = [texts::ABANDONED, texts::INTERRUPTED, texts::DELETED];

#[cfg(test)]
mod tests {
    use berth_crds::commitment_change::ChangeItemStatus;
    use berth_crds::testing;

    use super::*;

    fn ended_with(message: &str, outcome: ChangeOutcome) -> Ended {
        let mut change = testing::commitment_change("one", &["uuid-1", "uuid-2"]);
        let status = change.status.get_or_insert_default();
        status.message = Some(message.to_owned());
        status.items = vec![ChangeItemStatus { outcome, ..ChangeItemStatus::default() }];
        ended(&change)
    }

    #[test]
    fn the_status_tells_how_a_change_has_ended() {
        let rejected = Ended::Rejected("timeout: no".to_owned());
        assert_eq!(ended_with("timeout: no", ChangeOutcome::Rejected), rejected);
        let waiting = ChangeOutcome::Waiting;
        assert_eq!(ended_with("timeout: 2 commitment(s) were not decided in time", waiting), Ended::Timeout(2));
        assert_eq!(ended_with("timeout", waiting), Ended::Timeout(2));
        assert_eq!(ended_with("Conflict: a commitment was changed by another writer", waiting), Ended::Conflict);
        assert_eq!(ended_with("the change was deleted", waiting), Ended::Stopped);
        assert_eq!(ended_with("cannot create x: the API server refuses it", waiting), Ended::Refused);
    }
}
