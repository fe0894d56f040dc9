//! What keeps a commitment from being decided about. It is told in words at the end, and never decided by them.

use berth_cluster::{FlavorGroupsError, Partial, RouteError};
use berth_core::ClusterName;
use berth_crds::facts::NoTotal;
use berth_scheduler::SchedulerError;
use thiserror::Error;

/// Why nothing can be decided at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Hindrance {
    /// Objects that it rests on are not completely known.
    #[error(transparent)]
    Partial(#[from] Partial),
    /// No cluster serves what it needs.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Nobody follows the slots of the cluster where its own belong.
    #[error("the Reservations of cluster {0} are not watched")]
    Unwatched(ClusterName),
    /// The flavor groups cannot be read.
    #[error("flavor knowledge not ready: {0}")]
    FlavorGroups(#[from] FlavorGroupsError),
    /// The object with the cores of its group cannot be read.
    #[error("FlavorGroupCapacity {name} cannot be read, correct or delete it: {error}")]
    UnreadableCapacity {
        /// Its name.
        name: String,
        /// What is wrong with it.
        error: String,
    },
    /// That object has a number of cores that is none.
    #[error("FlavorGroupCapacity {name}: {error}")]
    NoTotal {
        /// Its name.
        name: String,
        /// What it says.
        error: NoTotal,
    },
    /// The scheduler could not decide.
    #[error("{}", .0.with_advice())]
    Scheduler(SchedulerError),
    /// The last apply did not come to its end; what it failed with.
    #[error("{0}")]
    Failed(String),
}

/// A Hypervisor that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Hypervisor {name} cannot be read, correct or delete it: {error}")]
pub struct UnreadableHost {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub error: String,
}
