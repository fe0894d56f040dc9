//! The errors of a reconciliation, and their classes.

use berth_cluster::{Classified, ErrorClass, Partial, WriteError};
use berth_core::VmId;
use berth_scheduler::SchedulerError;
use thiserror::Error;

/// The reconciliation of a slot, a host or an in-flight reservation did not complete.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The scheduler cannot decide whether there is free capacity.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// An earlier write of the slot has an unknown outcome.
    #[error("the slot is in doubt; it is read before anything else is decided")]
    InDoubt,
    /// The objects that are to be deleted are not completely known.
    #[error(transparent)]
    Partial(#[from] Partial),
    /// The size of a VM could not be read again.
    #[error("the size of VM {vm} cannot be read: {why}; it is tried again")]
    VmSize { vm: VmId, why: String },
}

impl Classified for Error {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Write(error) => error.class(),
            Self::InDoubt => ErrorClass::Conflict,
            Self::Partial(error) => error.class(),
            Self::Scheduler(_) | Self::VmSize { .. } => ErrorClass::Transient,
        }
    }
}
