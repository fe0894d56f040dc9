//! The capacity of flavor groups: what is written into the FlavorGroupCapacity of each group and zone in a cycle.
//!
//! The numbers are those of [`berth_core::capacity`]. Here they become objects: which ones are created, which ones keep their
//! values because a probe has failed, and which ones are deleted because their group or zone is gone.

mod plan;
mod status;

pub use plan::{CapacityPlan, CapacityWrite, CycleFacts, Place, PlaceFacts, StoredCapacity, ZoneFacts, plan};
