//! What can go wrong with the chart.

use std::io;
use std::path::{Path, PathBuf};

/// An error, with what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing a file.
    #[error("cannot {action} {}", path.display())]
    File {
        /// As in "cannot read".
        action: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program that cannot be started.
    #[error("cannot run {program}; install it, or run make setup")]
    Start {
        /// Which one.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A program that has failed.
    #[error("{command} failed:\n{output}")]
    Failed {
        /// With its arguments.
        command: String,
        /// What it printed.
        output: String,
    },
    /// A rendering that is not YAML.
    #[error("{what} is not YAML")]
    Yaml {
        /// Which file or set of values.
        what: String,
        /// Why.
        source: Box<serde_saphyr::Error>,
    },
    /// A document that is not JSON.
    #[error("{} is not JSON", path.display())]
    Json {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Neither variable with the place of the cache is set.
    #[error("the folder of the cache is unknown; set HOME or XDG_CACHE_HOME")]
    NoCache,
    /// The chart is not as it should be.
    #[error("{} problems:\n{}", .0.len(), .0.join("\n"))]
    Problems(Vec<String>),
}

impl Error {
    /// For `map_err`.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}
