//! Why the quota of a zone is not stored.

use std::time::Duration;

use berth_cluster::{ErrorClass, ObjectKey, Partial, RouteError, WriteError};
use thiserror::Error;

/// The text is a part of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    #[error(transparent)]
    Partial(#[from] Partial),
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("ProjectQuota {key} does not decode, correct or delete it: {error}")]
    Invalid { key: ObjectKey, error: String },
    #[error("ProjectQuota {0} is being deleted; try again when it is gone")]
    BeingDeleted(ObjectKey),
    #[error("ProjectQuota {0} was deleted at the same time; try again")]
    Gone(ObjectKey),
    /// Two pairs of project and zone can have the same name of an object.
    #[error(
        "ProjectQuota {key} is in the way: it is the quota of project {project} in zone {zone}; delete it if that quota \
         is not needed, otherwise leave one of the two zones out of quotaServedAvailabilityZones"
    )]
    OtherOwner { key: ObjectKey, project: String, zone: String },
    #[error("the API server did not answer within {} s; send the request again", .0.as_secs())]
    TimedOut(Duration),
}

/// This process does not lead any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotLeading;

impl StoreError {
    /// Whether it is worth another try with a fresh read of the object.
    pub(super) fn is_overtaken(&self) -> bool {
        match self {
            Self::Write(error) => error.class() == ErrorClass::Conflict,
            Self::Gone(_) => true,
            Self::Partial(_)
            | Self::Route(_)
            | Self::Invalid { .. }
            | Self::BeingDeleted(_)
            | Self::OtherOwner { .. }
            | Self::TimedOut(_) => false,
        }
    }

    /// Whether another process leads, which can do it.
    pub(super) fn is_not_leader(&self) -> bool {
        matches!(self, Self::Write(WriteError::NotLeader { .. }))
    }
}
