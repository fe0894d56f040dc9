//! Why the mutants could not be tried. A mutant that nobody notices is no error but a result.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;

use crate::table::Test;

/// Nothing can be said about the mutants.
#[derive(Debug, Error)]
pub enum Error {
    /// A row of the table is none.
    #[error("docs/testing.md, {row}: {why}")]
    Row {
        /// The line.
        row: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The copy of the sources cannot be made.
    #[error("{0} cannot be read or written")]
    Files(PathBuf, #[source] io::Error),
    /// The sources have changed where a fault is.
    #[error("{patch} does not apply; make it anew from the present sources: {why}")]
    Patch {
        /// The patch.
        patch: PathBuf,
        /// What git says.
        why: String,
    },
    /// The document cannot be read.
    #[error("docs/testing.md cannot be read")]
    Document(#[source] io::Error),
    /// Cargo or a test binary could not be started or heard.
    #[error("{0} cannot be run")]
    Run(String, #[source] io::Error),
    /// The tests were not built.
    #[error("the tests were not built ({0}): see above")]
    Build(ExitStatus),
    /// The table names what does not exist.
    #[error("{0} was not built: docs/testing.md names a package or a file of tests that does not exist")]
    NoBinary(String),
    /// A test that fails by itself notices nothing, and neither does one that is not there.
    #[error("{0} does not pass without a mutant, it says {1}")]
    Unsound(Test, &'static str),
}
