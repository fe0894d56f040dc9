//! Why the service info is not published.

use berth_cluster::{FlavorGroupsError, WriteError};
use berth_core::liquid::info::InfoError;
use thiserror::Error;

/// A service info that cannot be published. The former one stays in use.
#[derive(Debug, Error)]
pub enum PublishError {
    #[error(transparent)]
    Groups(#[from] FlavorGroupsError),
    #[error(transparent)]
    Info(#[from] InfoError),
    #[error("bug: the service info cannot be encoded as JSON")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
}
