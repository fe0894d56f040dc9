//! What can go wrong with the image.

use std::io;
use std::path::{Path, PathBuf};

/// An error, with what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading, writing or running a file.
    #[error("cannot {action} {}", path.display())]
    File {
        /// As in "cannot read".
        action: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The script has said more on stderr.
    #[error("the static binary was not built; run hack/static.sh test and see what it says\n{0}")]
    NotBuilt(String),
    /// The packages of the workspace are unknown.
    #[error("cargo does not tell the packages; run cargo metadata and see what it says")]
    Metadata(#[from] cargo_metadata::Error),
    /// The same, of those of the program.
    #[error("cargo does not tell what berth is built from: {0}")]
    NoTree(String),
    /// A package whose source has no licence text.
    #[error(
        "the source of {0} has no licence text: use another version or package, or let e2e/image/src/licences.rs add the text"
    )]
    NoText(String),
}

impl Error {
    /// For `map_err`.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}
