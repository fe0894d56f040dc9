//! The capacity of flavor groups: a cycle asks the scheduler where VMs would fit, and writes the FlavorGroupCapacity of each
//! group and zone.
//!
//! The numbers are those of [`berth_core::capacity`]; hosts and slots are those of the capacity view, so that no second copy of
//! what a slot blocks exists. Objects of a group of which a probe has failed keep their values and are not ready; those whose
//! group or zone is gone are deleted.

mod apply;
mod error;
mod metrics;
mod plan;
mod probe;
mod read;
mod reconcile;
mod settings;
mod status;
mod watches;

pub use error::Error;
pub use metrics::CapacityMetrics;
pub use plan::{
    AcceptedByPlace, CapacityPlan, CapacityWrite, CycleFacts, Place, PlaceFacts, StoredCapacity, ZoneFacts, plan,
};
pub use reconcile::{CapacityController, Context};
pub use settings::Settings;
pub use watches::CapacityKey;
