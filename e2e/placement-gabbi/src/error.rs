//! Why the suite could not be run. A test that fails is no error but a result.

use std::process::ExitStatus;

use thiserror::Error;

/// Nothing can be said about the server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no folder for caches.
    #[error(
        "neither XDG_CACHE_HOME nor HOME is set to an absolute path; set one of them, so that the Python environment of \
         the suite has a place"
    )]
    NoCacheFolder,
    /// There is no Python.
    #[error("python3 is not on the PATH, but the suite is written in Python; install python3-venv (`make setup` does)")]
    PythonMissing,
    /// The Python environment could not be made.
    #[error(
        "`{command}` failed ({status}) while making the Python environment of the suite; Debian needs the package \
         python3-venv (`make setup` installs it), and packages come from PyPI. The end of its output:\n{output}"
    )]
    EnvironmentFailed {
        /// What was run.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines it wrote.
        output: String,
    },
    /// The list of contradictions has a line that cannot be read, or that names no test.
    #[error("contradictions.txt: {line}: {problem}")]
    Contradiction {
        /// The line.
        line: String,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// Somebody asked for a file that the suite does not have.
    #[error("the suite has no file {name}; without --only all of its {files} files are run")]
    NoSuchFile {
        /// What was asked for.
        name: String,
        /// How many there are.
        files: usize,
    },
    /// The server did not answer in time after its start.
    #[error(
        "the server did not answer GET /resource_providers with 200 within {seconds} s; the end of its log:\n{log}"
    )]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// The server did not start, or ended by itself.
    #[error(transparent)]
    Server(#[from] berth_control_plane::Error),
    /// There is no PostgreSQL to test with.
    #[error(transparent)]
    Postgres(#[from] berth_postgres::Error),
    /// What runs the tests ended, or said nothing for too long.
    #[error("the worker that runs the file {file} {problem}; what it wrote to stderr is above")]
    Worker {
        /// The file of the suite.
        file: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// A fixture could not be made.
    #[error("the data that {file} needs could not be made:\n{text}")]
    Fixture {
        /// The file of the suite.
        file: String,
        /// What Python says.
        text: String,
    },
    /// What runs the tests said something that is no answer.
    #[error("a worker's answer cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
    /// The operating system refused something.
    #[error(transparent)]
    Io(#[from] berth_control_plane::Refused),
}
