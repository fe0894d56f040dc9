//! The errors that end the process, one line each.

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
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    #[error(transparent)]
    Placement(#[from] berth_placement::serve::ServeError),
    #[error("the policy file {} cannot be used: {why}", path.display())]
    Policies { path: PathBuf, why: String },
    /// Callers authenticate, and the means for it are missing.
    #[error(
        "authentication by Keystone needs credentials: set keystoneSecretRef, or keystoneURL with osUsername and osPassword"
    )]
    NoKeystone,
    /// The credentials of Keystone are in a Secret, and there is no API server to read it from.
    #[error(
        "the credentials of Keystone are in a Secret (keystoneSecretRef), and there is no API server to read it from; set KUBECONFIG, \
         run in a pod with a service account, or write keystoneURL, osUsername and osPassword into the secrets file instead"
    )]
    NoSecrets {
        #[source]
        source: ConnectError,
    },
    #[error("no server answers at {address}; start `berth placement`, or give its --metrics-listen")]
    NoServer {
        address: String,
        #[source]
        source: io::Error,
    },
    /// The metrics are for callers that an API server knows, and there is none.
    #[error(
        "the metrics are for callers that the API server knows (--metrics-secure), and there is none to ask; set KUBECONFIG, run \
         in a pod with a service account, or pass --metrics-secure=false"
    )]
    NoReaders {
        #[source]
        source: ConnectError,
    },
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The API server is not fit for us.
    #[error("the cluster is not ready for Berth")]
    Preflight(Vec<Preflight>),
    #[error("apiservers: {0}; list the kind in home.gvks or in the gvks of a remote")]
    Route(#[from] RouteError),
    #[error("--leader-elect needs a name for the lease: give leaderElectionID, or remove the empty one")]
    NoLease,
    #[error("this process has lost the leadership ({reason}); it ends so that another one can")]
    Leadership { reason: String },
    /// Something that is configured is not part of this version.
    #[error("{what} is not part of this version: {instead}")]
    NotProvided { what: String, instead: String },
    /// A part of the process has ended that must not end.
    #[error("{part} has ended; the process stops so that it is started again")]
    Ended { part: Cow<'static, str> },
    /// A client of HTTP could not be made.
    #[error("requests cannot be sent to other processes")]
    Client {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the process cannot start its threads")]
    Runtime {
        #[source]
        source: io::Error,
    },
    #[error("{0}")]
    Wrong(String),
    /// The log says what has failed.
    #[error("the log says what has failed")]
    Logged,
    /// No operator responds to the command `log-level`.
    #[error(
        "no operator with the process id {pid} can be reached here; run this where it runs, as the same user, or give its --pid"
    )]
    NoOperator {
        pid: u32,
        #[source]
        source: io::Error,
    },
    /// The definitions could not be printed: a mistake in the program.
    #[error("the custom resource definitions cannot be printed: {reason}")]
    Crds { reason: String },
    #[error("cannot write {}; check that the directory exists and is writable", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A cluster that is needed cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The flavor groups are needed and cannot be read.
    #[error(transparent)]
    FlavorGroups(#[from] FlavorGroupsError),
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The object that the command names does not exist.
    #[error("no {what} {name:?} is known{hint}")]
    Unknown { what: &'static str, name: String, hint: String },
    #[error("{what} {name:?} means several objects; ask for one of them: {all}")]
    Ambiguous { what: &'static str, name: String, all: String },
    /// A requested object does not decode.
    #[error("{kind} {name} cannot be read, correct or delete it: {why}")]
    Malformed { kind: &'static str, name: String, why: String },
    #[error("Reservation {name} is a {kind} and no slot; `berth explain host` shows what it takes on its host")]
    NoSlot { name: String, kind: &'static str },
    #[error(transparent)]
    Request(#[from] Malformed),
    /// The body of a request is too large.
    #[error("{path}: the request has more than {most} bytes (scheduler.maxBodyBytes); send a smaller one")]
    TooLarge {
        path: String,
        /// The limit in bytes.
        most: usize,
    },
    /// The body of a request cannot be read.
    #[error("{path}: the request cannot be read; give the path of a readable file, or - for standard input")]
    Unread {
        path: String,
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// The lines for the user.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Preflight(problems) => problems.iter().map(ToString::to_string).collect(),
            Self::Logged => Vec::new(),
            // A heading, then one line for each finding.
            Self::Telemetry(TelemetryError::Configuration { .. }) => {
                self.to_string().lines().map(str::to_owned).collect()
            }
            error => vec![chain(error)],
        }
    }

    /// 2 for an unusable configuration and for an invalid request, else 1.
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
