//! The errors of a cycle.

use berth_cluster::{Classified, ErrorClass, FlavorGroupsError, Partial, RouteError, WriteError};
use thiserror::Error;

/// The capacity was not computed, or not written as a whole.
#[derive(Debug, Error)]
pub enum Error {
    #[error("capacity is not computed without the flavor groups: {0}")]
    Groups(#[from] FlavorGroupsError),
    /// No zone can be read.
    #[error("capacity is not computed in any zone: {0}")]
    Partial(#[from] Partial),
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error("{skipped} FlavorGroupCapacity objects are not written before it is known what became of earlier writes")]
    InDoubt { skipped: usize },
    #[error("{failed} FlavorGroupCapacity objects were not written; the first one: {first}")]
    Writes { failed: usize, first: WriteError },
}

impl Classified for Error {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Groups(_) | Self::Partial(_) | Self::InDoubt { .. } => ErrorClass::Transient,
            Self::Route(_) => ErrorClass::Permanent,
            Self::Writes { first, .. } => first.class(),
        }
    }
}
