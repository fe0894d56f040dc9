//! The domain of Berth, pure: no I/O, no clock, no randomness, no hash-map order. Time is an argument.

pub mod backoff;
pub mod block;
pub mod capacity;
pub mod commitment;
pub mod flavor;
pub mod host;
pub mod ids;
pub mod liquid;
#[doc(hidden)]
pub mod planner;
pub mod quantity;
pub mod quota;
mod quoted;
pub mod refresh;
pub mod reservation;
pub mod slot;
pub mod slot_choice;
pub mod slot_exchange;
pub mod summary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod units;
pub mod usage;

pub use ids::{
    ClusterName, CommitmentUuid, DomainId, FlavorName, GroupName, HostName, ProjectId, SlotKey, SlotName, VmId, Zone,
};
pub use quantity::Quantity;
pub use units::{Bytes, Cores, Resources};
