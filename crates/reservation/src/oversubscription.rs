//! The controller that relieves hosts which hold more than they have: hosts that shrink, VMs that grow or start outside
//! of slots, and slots in force whose host was given out twice.
//!
//! The controller of slots writes the condition and finds another host. The free capacity of a host comes from the
//! shared capacity view.

mod apply;
mod choice;
mod evictions;
mod facts;
mod metrics;
mod plan;
mod read;
mod reconcile;
mod watches;
mod zone;

pub use evictions::{Eviction, Evictions};
pub use facts::{Occupant, OversubscriptionFacts};
pub use metrics::OversubscriptionMetrics;
pub use plan::{OversubscriptionPlan, OversubscriptionStep, Settings, Stuck, evictions, plan};
pub use reconcile::{Context, OversubscriptionController};
pub use zone::{ZoneEvictions, plan_zone};
