//! The errors of a comparison and of a run.

use berth_cluster::{Classified, ErrorClass, FlavorGroupsError, Partial, RouteError, WriteError};
use berth_openstack::OpenStackError;
use thiserror::Error;

/// A commitment was not compared, or what the comparison has led to was not written.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Whether there is an object for the commitment is not known.
    #[error(transparent)]
    Partial(#[from] Partial),
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error("the commitment was paused meanwhile")]
    Paused,
    #[error("a change of the commitment has begun meanwhile")]
    OpenChange,
}

impl Classified for Error {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Write(error) => error.class(),
            Self::Partial(_) => ErrorClass::Transient,
            Self::Route(_) => ErrorClass::Permanent,
            Self::Paused | Self::OpenChange => ErrorClass::Conflict,
        }
    }
}

/// A run has led to no view.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("the commitments of Limes cannot be understood without the flavor groups: {0}")]
    Groups(#[from] FlavorGroupsError),
    #[error("the projects cannot be listed: {0}")]
    Projects(OpenStackError),
}

impl RunError {
    /// The Knowledge object is not ready yet, which is no failure.
    pub(crate) fn is_not_ready(&self) -> bool {
        matches!(self, Self::Groups(FlavorGroupsError::NotReady | FlavorGroupsError::NoGroups))
    }
}
