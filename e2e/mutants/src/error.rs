//! Why the mutants could not be run. An unnoticed mutant is no error but a result.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;

use crate::table::Test;

/// The errors that end a campaign.
#[derive(Debug, Error)]
pub enum Error {
    #[error("docs/testing.md, {row}: {why}")]
    Row { row: String, why: &'static str },
    /// The copy of the sources cannot be made.
    #[error("{0} cannot be read or written")]
    Files(PathBuf, #[source] io::Error),
    /// The sources of a mutant have changed.
    #[error("{patch} does not apply; make it anew from the present sources: {why}")]
    Patch { patch: PathBuf, why: String },
    #[error("docs/testing.md cannot be read")]
    Document(#[source] io::Error),
    /// Cargo or a test binary could not be started, or its output not be read.
    #[error("{0} cannot be run")]
    Run(String, #[source] io::Error),
    #[error("the tests were not built ({0}): see above")]
    Build(ExitStatus),
    #[error("{0} was not built: docs/testing.md names a package or a file of tests that does not exist")]
    NoBinary(String),
    /// A test that fails without a mutant notices nothing, and neither does a missing one.
    #[error("{0} does not pass without a mutant, it says {1}")]
    Unsound(Test, &'static str),
}
