//! The controller that relieves hosts which hold more than they have: hosts that shrink, VMs that grow or start outside
//! of slots, and slots in force whose host was given out twice.
//!
//! It decides which slots leave such a host, after a grace period, and clears their `targetHost`. Saying so and finding
//! another host is the business of the controller of slots. What a host has free it asks the one capacity view.

mod apply;
mod choice;
mod evictions;
mod facts;
mod metrics;
mod plan;
mod read;
mod reconcile;
mod watches;

pub use evictions::{Eviction, Evictions};
pub use facts::{Facts, Occupant};
pub use metrics::OversubscriptionMetrics;
pub use plan::{Plan, Settings, Step, Stuck, plan};
pub use reconcile::{Context, OversubscriptionController};
