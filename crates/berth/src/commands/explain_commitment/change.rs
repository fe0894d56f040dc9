//! The open change that a commitment belongs to.

use berth_cluster::Store;
use berth_cluster::indexes::CHANGE_BY_COMMITMENT;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{CommitmentChange, facts};
use serde::Serialize;

/// A change that is not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenChange {
    pub(super) name: String,
    pub(super) phase: ChangePhase,
    /// The request that asked for it.
    pub(super) requested_by: String,
}

impl OpenChange {
    /// One that has begun comes before one that waits.
    pub(super) fn of(changes: &Store<CommitmentChange>, uuid: &str) -> Option<Self> {
        let all = changes.select(&CHANGE_BY_COMMITMENT, uuid).into_iter();
        let open = all.filter(|entry| facts::is_open(&entry.object));
        let entry = open.max_by_key(|entry| entry.object.phase() != ChangePhase::Pending)?;
        let (phase, requested_by) = (entry.object.phase(), entry.object.spec.request_id.clone());
        Some(Self { name: entry.key.name.to_string(), phase, requested_by })
    }

    pub(super) fn describe(&self) -> String {
        let what = match self.phase {
            ChangePhase::Pending => "its first commitments are being written",
            ChangePhase::Applying => "its commitments are written, or their outcomes are awaited",
            ChangePhase::Accepted => "it is accepted and being completed",
            ChangePhase::RollingBack => "it is being undone",
            ChangePhase::RolledBack => "it is undone",
            ChangePhase::Failed => "undoing it has failed many times and is tried again",
        };
        format!("{} of request {} is {}: {what}", self.name, self.requested_by, self.phase)
    }
}
