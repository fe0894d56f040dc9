//! The errors of a reconciliation and their classes.

use berth_cluster::{Classified, ErrorClass, WriteError};
use berth_scheduler::SchedulerError;
use thiserror::Error;

/// The reconciliation of a commitment did not complete.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The scheduler must not be called before an object was read again.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// Something went away while the plan was applied.
    #[error("a slot went away while the plan was applied; it is planned again")]
    Changed,
    #[error("the commitment was paused while its plan was applied; the rest of the plan is not applied")]
    Paused,
}

impl Error {
    /// The reconciliation rested on outdated facts: it is repeated at once and decides again.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(
            self,
            Self::Write(WriteError::Conflict { .. } | WriteError::AlreadyExists { .. }) | Self::Changed | Self::Paused
        )
    }
}

impl Classified for Error {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Write(error) => error.class(),
            Self::Scheduler(SchedulerError::InDoubt { .. }) | Self::Changed | Self::Paused => ErrorClass::Conflict,
            Self::Scheduler(_) => ErrorClass::Transient,
        }
    }
}
