//! Waits for the end of a change, as the watch shows it.

use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_core::ClusterName;
use berth_crds::commitment_change::{ChangeOutcome, ChangePhase, RollBackCause};
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
    /// A user has deleted it, or the process that executed it has ended.
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
    match status.roll_back_cause {
        Some(RollBackCause::Rejected) => Ended::Rejected(status.message.unwrap_or_default()),
        Some(RollBackCause::Timeout) => {
            Ended::Timeout(status.items.iter().filter(|item| item.outcome == ChangeOutcome::Waiting).count())
        }
        Some(RollBackCause::Conflict) => Ended::Conflict,
        Some(RollBackCause::Abandoned | RollBackCause::Interrupted | RollBackCause::Deleted) => Ended::Stopped,
        Some(RollBackCause::Refused) | None => Ended::Refused,
    }
}

#[cfg(test)]
mod tests {
    use berth_crds::commitment_change::ChangeItemStatus;
    use berth_crds::testing;

    use super::*;

    fn ended_by(cause: Option<RollBackCause>) -> Ended {
        let mut change = testing::commitment_change("one", &["uuid-1", "uuid-2"]);
        let status = change.status.get_or_insert_default();
        status.roll_back_cause = cause;
        status.message = Some("why".to_owned());
        let item = |outcome| ChangeItemStatus { outcome, ..ChangeItemStatus::default() };
        status.items = [ChangeOutcome::Accepted, ChangeOutcome::Waiting].map(item).to_vec();
        ended(&change)
    }

    #[test]
    fn the_status_tells_how_a_change_has_ended() {
        for (cause, expected) in [
            (RollBackCause::Rejected, Ended::Rejected("why".to_owned())),
            (RollBackCause::Timeout, Ended::Timeout(1)),
            (RollBackCause::Conflict, Ended::Conflict),
            (RollBackCause::Abandoned, Ended::Stopped),
            (RollBackCause::Interrupted, Ended::Stopped),
            (RollBackCause::Deleted, Ended::Stopped),
            (RollBackCause::Refused, Ended::Refused),
        ] {
            assert_eq!(ended_by(Some(cause)), expected, "{cause:?}");
        }
        assert_eq!(ended_by(None), Ended::Refused);
    }
}
