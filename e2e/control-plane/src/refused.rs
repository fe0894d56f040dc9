//! An action that the operating system refused, for the errors of every crate that runs programs.

use std::io;
use std::path::Path;

/// The action and the error.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {source}")]
pub struct Refused {
    pub action: String,
    pub source: io::Error,
}

/// Errors that can wrap a refusal of the operating system.
pub trait FromRefused: From<Refused> {
    /// For `map_err`: names the action that the operating system refused.
    fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Refused { action, source }.into()
    }

    /// For `map_err`: names the action and its path.
    fn path(action: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("{action} {}", path.display()))
    }
}

impl<E: From<Refused>> FromRefused for E {}
