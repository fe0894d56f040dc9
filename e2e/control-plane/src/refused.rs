//! Something that the operating system refused, for the errors of every crate that runs programs.

use std::io;
use std::path::Path;

/// What was tried, and what became of it.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {source}")]
pub struct Refused {
    /// What was tried, with the path.
    pub action: String,
    /// What the operating system said.
    pub source: io::Error,
}

/// Errors that a refusal of the operating system may be one of.
pub trait FromRefused: From<Refused> {
    /// For `map_err`: names the action that the operating system refused.
    fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Refused { action, source }.into()
    }

    /// For `map_err`: names the action and the path on which it was tried.
    fn path(action: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("{action} {}", path.display()))
    }
}

impl<E: From<Refused>> FromRefused for E {}
