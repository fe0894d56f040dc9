//! What can go wrong in a look, and what follows from it.

use berth_cluster::{Class, Classified, Partial, WriteError};
use berth_core::VmId;
use berth_scheduler::SchedulerError;
use thiserror::Error;

/// A look at a slot, a host or an in-flight reservation did not come to its end.
#[derive(Debug, Error)]
pub enum Error {
    /// An object could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The scheduler cannot say whether there is room.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// An earlier write of the slot has an unknown outcome.
    #[error("the slot is in doubt; it is read before anything else is decided")]
    InDoubt,
    /// What is to be deleted is not completely known.
    #[error(transparent)]
    Partial(#[from] Partial),
    /// The size of a VM could not be looked up.
    #[error("the size of VM {vm} cannot be looked up: {why}; it is tried again")]
    VmSize {
        /// The VM.
        vm: VmId,
        /// What went wrong.
        why: String,
    },
}

impl Classified for Error {
    fn class(&self) -> Class {
        match self {
            Self::Write(error) => error.class(),
            Self::InDoubt => Class::Soon,
            Self::Partial(error) => error.class(),
            Self::Scheduler(_) | Self::VmSize { .. } => Class::Later,
        }
    }
}
