//! Why a commitment cannot be decided at the moment. The causes are types; they are rendered at the end.

use berth_cluster::{FlavorGroupsError, Partial, RouteError};
use berth_core::ClusterName;
use berth_crds::facts::NoTotal;
use berth_scheduler::SchedulerError;
use berth_telemetry::clock::UntrustedClock;
use thiserror::Error;

/// Why nothing can be decided at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlockReason {
    /// Objects that it rests on are not completely known.
    #[error(transparent)]
    Partial(#[from] Partial),
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The slots of the cluster where its own belong are not watched.
    #[error("the Reservations of cluster {0} are not watched")]
    Unwatched(ClusterName),
    #[error("flavor knowledge not ready: {0}")]
    FlavorGroups(#[from] FlavorGroupsError),
    /// The object with the cores of its group cannot be read.
    #[error("FlavorGroupCapacity {name} cannot be read, correct or delete it: {error}")]
    UnreadableCapacity { name: String, error: String },
    /// The number of cores of that object is invalid.
    #[error("FlavorGroupCapacity {name}: {error}")]
    NoTotal { name: String, error: NoTotal },
    #[error("whether it has ended is not known: {0}")]
    Clock(#[from] UntrustedClock),
    #[error("{}", .0.with_advice())]
    Scheduler(SchedulerError),
    /// The error of the last apply, which did not complete.
    #[error("{0}")]
    Failed(String),
}

/// A Hypervisor that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Hypervisor {name} cannot be read, correct or delete it: {error}")]
pub struct UnreadableHost {
    pub name: String,
    pub error: String,
}
