//! The errors of the benchmarks, one line each.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Every error that ends the program.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    ControlPlane(#[from] berth_control_plane::Error),
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("the kubeconfig of the control plane: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    #[error("an object cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// An error of a file, a port or `/proc`.
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
    #[error("{} is missing; run make bench, which builds it", program.display())]
    NoOperator { program: PathBuf },
    /// The operator did not reach the awaited state in time.
    #[error("the operator does not get to it within {seconds} s: {what}\n{log}")]
    TooLong { what: &'static str, seconds: u64, log: String },
    #[error("the scheduler: {0}")]
    Scheduler(#[from] berth_scheduler::SchedulerError),
    /// A server under attack, or the scheduler API, gave an unexpected answer.
    #[error("an unexpected answer: {0}")]
    Answer(String),
    #[error("the LIQUID API: {0}")]
    Limes(#[from] berth_limes::Error),
    #[error("the session with Keystone: {0}")]
    Keystone(#[from] berth_openstack::OpenStackError),
    #[error("the metrics of what is measured in this process: {0}")]
    Metrics(#[from] berth_telemetry::metrics::MetricsError),
    /// The operator's account cannot connect to the API server.
    #[error(transparent)]
    Connect(#[from] berth_cluster::ConnectError),
    #[error("the watch of the commitments: {0}")]
    Watch(#[from] kube::runtime::watcher::Error),
    #[error("more writes than there may be:\n{}", .budgets.join("\n"))]
    Exceeded {
        /// The exceeded budgets, one line each: what was allowed and what was found.
        budgets: Vec<String>,
    },
    /// An expected write is not in the journal.
    #[error("the journal of the API server lacks {0}")]
    AuditLog(&'static str),
    /// The objects to measure cannot be created.
    #[error("what is to be measured on: {0}")]
    Scene(String),
    /// The planner did something else than what should be measured.
    #[error("to {desired} is not what the planner did: new slots and slots that go are {outcome:?}")]
    Planned {
        desired: &'static str,
        /// The planned creations and deletions; `None` when there was no plan.
        outcome: Option<(usize, usize)>,
    },
    #[error(transparent)]
    Placement(#[from] crate::placement::error::Error),
    #[error("the operator wrote {writes} times, and there was nothing to write")]
    Wrote { writes: u64 },
}

impl Error {
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
