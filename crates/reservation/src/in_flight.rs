//! The controller of in-flight reservations: free capacity that another client keeps on several hosts for a VM on its
//! way. Berth creates none. The controller never changes reservations of other types.

mod apply;
mod facts;
mod first_seen;
mod metrics;
mod plan;
mod read;
mod reconcile;
mod vm_sizes;
mod watches;

pub use facts::{Flight, InFlightFacts};
pub use metrics::InFlightMetrics;
pub use plan::{Cause, InFlightPlan, InFlightStep, needs_size, plan};
pub use reconcile::{Context, InFlightController};
pub use vm_sizes::{NoVmSizes, VmSize, VmSizes};
