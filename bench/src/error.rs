//! Why there are no figures, one line each.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Everything that ends the program.
#[derive(Debug, Error)]
pub enum Error {
    /// etcd, kube-apiserver or the operator.
    #[error(transparent)]
    ControlPlane(#[from] berth_control_plane::Error),
    /// A call to the API server.
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    /// The kubeconfig that the control plane wrote.
    #[error("the kubeconfig of the control plane: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// An object of ours.
    #[error("an object cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A file, a port, or what the system knows of a process.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The operator is not built.
    #[error("{} is missing; run make bench, which builds it", program.display())]
    NoOperator {
        /// Where it should be.
        program: PathBuf,
    },
    /// The operator does not get to what is waited for.
    #[error("the operator does not get to it within {seconds} s: {what}\n{log}")]
    TooLong {
        /// What was waited for.
        what: &'static str,
        /// How long.
        seconds: u64,
        /// The end of its log.
        log: String,
    },
    /// The scheduler did not decide.
    #[error("the scheduler: {0}")]
    Scheduler(#[from] berth_scheduler::SchedulerError),
    /// The scheduler API did not answer as it should.
    #[error("the scheduler API: {0}")]
    Answer(String),
    /// The metrics of the scheduler API.
    #[error("the metrics of the scheduler API: {0}")]
    Metrics(#[from] berth_telemetry::metrics::MetricsError),
    /// There is no way to the API server for the account of the operator.
    #[error(transparent)]
    Connect(#[from] berth_cluster::ConnectError),
    /// A watch of what becomes of objects.
    #[error("the watch of the commitments: {0}")]
    Watch(#[from] kube::runtime::watcher::Error),
    /// More was written than a budget allows.
    #[error("more writes than there may be:\n{}", .budgets.join("\n"))]
    Exceeded {
        /// What was allowed and what was found, one line each.
        budgets: Vec<String>,
    },
    /// Something that must have been written.
    #[error("the journal of the API server lacks {0}")]
    Journal(&'static str),
    /// What is to be measured on cannot be made.
    #[error("what is to be measured on: {0}")]
    Scene(String),
    /// The planner did something else than what was to be measured.
    #[error("to {wish} is not what the planner did: new slots and slots that go are {outcome:?}")]
    Planned {
        /// What the commitment wished.
        wish: &'static str,
        /// What was planned instead; nothing when there was no plan.
        outcome: Option<(usize, usize)>,
    },
    /// The figures of the Placement API.
    #[error(transparent)]
    Placement(#[from] crate::placement::error::Error),
    /// There was nothing to write.
    #[error("the operator wrote {writes} times, and there was nothing to write")]
    Wrote {
        /// How often.
        writes: u64,
    },
}

impl Error {
    /// Says what was to be done.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
