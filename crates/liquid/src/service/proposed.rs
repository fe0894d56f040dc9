//! The interface to what tells whether a change would fit.

use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_core::CommitmentUuid;
use berth_crds::{CommittedResource, CommittedResourceSpec};
use futures::future::BoxFuture;

/// A commitment as a change would make it.
#[derive(Clone, Debug)]
pub struct ProposedSpec {
    pub key: ObjectKey,
    pub uuid: CommitmentUuid,
    /// The commitment as it is.
    pub object: Option<Arc<CommittedResource>>,
    /// Its spec after the change; `None` if it is deleted.
    pub after: Option<CommittedResourceSpec>,
}

/// The result of a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRunVerdict {
    Fits,
    /// Some commitments would be rejected, for these reasons.
    Rejected(Vec<(CommitmentUuid, String)>),
    /// It cannot be decided now: the commitment, and what it waits for.
    Undecided(CommitmentUuid, String),
}

/// Tells whether a change would fit. Nothing is written or kept.
pub trait DryRun: Send + Sync + 'static {
    fn dry_run<'a>(&'a self, change: Vec<ProposedSpec>, request_id: &'a str) -> BoxFuture<'a, DryRunVerdict>;
}
