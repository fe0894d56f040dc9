//! The errors of a run.

use berth_cluster::{Classified, ErrorClass, FlavorGroupsError, Partial, RouteError, WriteError};
use berth_vm_source::Unavailable;
use thiserror::Error;

/// The usage of a project was not computed, or not written as a whole.
#[derive(Debug, Error)]
pub enum Error {
    #[error("the usage is not computed without the flavor groups: {0}")]
    Groups(#[from] FlavorGroupsError),
    #[error("the usage stays as it is, because the VMs are not known: {0}")]
    Vms(#[from] Unavailable),
    #[error("the usage stays as it is: {0}")]
    Partial(#[from] Partial),
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Error {
    /// The missing data is reported elsewhere, and the run is requested again when it is there.
    pub fn waits_for_data(&self) -> bool {
        matches!(self, Self::Vms(_) | Self::Partial(_))
    }
}

impl Classified for Error {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Groups(_) | Self::Vms(_) | Self::Partial(_) => ErrorClass::Transient,
            Self::Route(_) => ErrorClass::Permanent,
            Self::Write(error) => error.class(),
        }
    }
}
