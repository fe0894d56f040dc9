//! The errors of a reconciliation and their classes.

use berth_cluster::{Classified, ErrorClass, Partial, RouteError, WriteError};
use thiserror::Error;

/// A step of a change was not done.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A commitment is deleted only when it is known which there are.
    #[error(transparent)]
    Partial(#[from] Partial),
    #[error(transparent)]
    Route(#[from] RouteError),
}

impl Classified for Error {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Write(error) => error.class(),
            Self::Partial(_) | Self::Route(_) => ErrorClass::Transient,
        }
    }
}
