//! The controller of in-flight reservations: room that somebody else keeps on several hosts for a VM on its way. We
//! create none.
//!
//! It decides when such a block has done its work: when the VM has landed, wherever, at `spec.endTime`, or half an hour
//! after creation when there is none. Other types of reservations it never touches.

mod apply;
mod facts;
mod metrics;
mod plan;
mod read;
mod reconcile;
mod sightings;
mod vm_sizes;
mod watches;

pub use facts::{Facts, Flight};
pub use metrics::InFlightMetrics;
pub use plan::{Cause, Plan, Step, needs_size, plan};
pub use reconcile::{Context, InFlightController};
pub use vm_sizes::{NoVmSizes, VmSize, VmSizes};
