//! What can go wrong in a look, and what follows from it.

use berth_cluster::{Class, Classified, WriteError};
use berth_scheduler::SchedulerError;
use thiserror::Error;

/// A look at a commitment did not come to its end.
#[derive(Debug, Error)]
pub enum Error {
    /// An object could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The scheduler must not be asked before an object was looked up.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// Something went away while the plan was applied.
    #[error("a slot went away while the plan was applied; it is planned again")]
    Changed,
    /// Somebody froze the commitment meanwhile.
    #[error("the commitment was frozen while its plan was applied; the rest of the plan is not")]
    Frozen,
}

impl Error {
    /// The look rested on old facts. That is nobody's concern: it is repeated at once and decides anew.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(
            self,
            Self::Write(WriteError::Conflict { .. } | WriteError::AlreadyExists { .. }) | Self::Changed | Self::Frozen
        )
    }
}

impl Classified for Error {
    fn class(&self) -> Class {
        match self {
            Self::Write(error) => error.class(),
            Self::Scheduler(SchedulerError::InDoubt { .. }) | Self::Changed | Self::Frozen => Class::Soon,
            Self::Scheduler(_) => Class::Later,
        }
    }
}
