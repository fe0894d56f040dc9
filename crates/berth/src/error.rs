//! Why the process cannot start or go on, one clear line each.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use berth_cluster::{ConnectError, FlavorGroupsError, Preflight, ReadError, RouteError, chain};
use berth_http::HttpError;
use berth_scheduler::SchedulerError;
use berth_scheduler_api::wire::Malformed;
use berth_telemetry::TelemetryError;
use thiserror::Error;

/// Everything that ends the process.
#[derive(Debug, Error)]
pub enum Error {
    /// Flags, logs or configuration.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The server of the Placement API.
    #[error(transparent)]
    Placement(#[from] berth_placement::serve::ServeError),
    /// Its policy file.
    #[error("the policy file {} cannot be used: {why}", path.display())]
    Policies {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A server that does not answer.
    #[error("no server answers at {address}; start `berth placement`, or give its --metrics-listen")]
    NoServer {
        /// Where it was looked for.
        address: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A listener.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The way to the API server.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The API server is not fit for us.
    #[error("the cluster is not ready for Berth")]
    Preflight(Vec<Preflight>),
    /// A kind that no cluster serves.
    #[error("apiservers: {0}; list the kind in home.gvks or in the gvks of a remote")]
    Route(#[from] RouteError),
    /// `--leader-elect` without a name for the lease.
    #[error("--leader-elect needs a name for the lease: give leaderElectionID, or remove the empty one")]
    NoLease,
    /// Another replica leads, or may.
    #[error("this process does not lead any more ({reason}); it ends so that another one can")]
    Leadership {
        /// How that came.
        reason: String,
    },
    /// Something that is configured is not part of this version.
    #[error("{what} is not part of this version: {instead}")]
    NotProvided {
        /// The flag or key.
        what: String,
        /// What to do.
        instead: String,
    },
    /// A part of the process has ended that must not end.
    #[error("{part} has ended; the process stops so that it is started again")]
    Ended {
        /// Which part.
        part: Cow<'static, str>,
    },
    /// A client of HTTP could not be made.
    #[error("requests cannot be sent to other processes")]
    Client {
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The runtime could not be started.
    #[error("the process cannot start its threads")]
    Runtime {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The answer of a check is no.
    #[error("{0}")]
    Wrong(String),
    /// The log of an operator cannot be asked about.
    #[error(
        "no operator with the process id {pid} can be reached here; run this where it runs, as the same user, or give its --pid"
    )]
    NoOperator {
        /// The process id that was asked for.
        pid: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The definitions could not be printed: a mistake in the program.
    #[error("the custom resource definitions cannot be printed: {reason}")]
    Crds {
        /// What happened.
        reason: String,
    },
    /// A file could not be written.
    #[error("cannot write {}; check that the directory exists and is writable", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A cluster that is needed cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The flavor groups are needed and cannot be read.
    #[error(transparent)]
    FlavorGroups(#[from] FlavorGroupsError),
    /// The scheduler cannot decide on a request.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// What was asked for by name does not exist.
    #[error("no {what} {name:?} is known{hint}")]
    Unknown {
        /// What it would be.
        what: &'static str,
        /// The name as given.
        name: String,
        /// What else it could have meant.
        hint: String,
    },
    /// A name means several objects.
    #[error("{what} {name:?} means several objects; ask for one of them: {all}")]
    Ambiguous {
        /// What they are.
        what: &'static str,
        /// The name as given.
        name: String,
        /// Their clusters and names.
        all: String,
    },
    /// An object that is asked for does not decode.
    #[error("{kind} {name} cannot be read, correct or delete it: {why}")]
    Malformed {
        /// The kind.
        kind: &'static str,
        /// Its cluster and name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A Reservation that is no slot.
    #[error("Reservation {name} is a {kind} and no slot; `berth explain host` shows what it takes on its host")]
    NoSlot {
        /// Its cluster and name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// The body of a request is none.
    #[error(transparent)]
    Request(#[from] Malformed),
    /// The body of a request is too large.
    #[error("{path}: the request has more than {most} bytes (scheduler.maxBodyBytes); send a smaller one")]
    TooLarge {
        /// Where it was read from.
        path: String,
        /// The limit in bytes.
        most: usize,
    },
    /// The body of a request cannot be read.
    #[error("{path}: the request cannot be read; give the path of a readable file, or - for standard input")]
    Unread {
        /// Where it was read from.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// The lines for the person who started the process.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Preflight(problems) => problems.iter().map(ToString::to_string).collect(),
            // A heading, then one line for each finding.
            Self::Telemetry(TelemetryError::Configuration { .. }) => {
                self.to_string().lines().map(str::to_owned).collect()
            }
            error => vec![chain(error)],
        }
    }

    /// 2 for a configuration that cannot be used and for a request that is none, else 1.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Telemetry(TelemetryError::Configuration { .. })
            | Self::Request(_)
            | Self::TooLarge { .. }
            | Self::Unread { .. } => 2.into(),
            _ => ExitCode::FAILURE,
        }
    }
}
