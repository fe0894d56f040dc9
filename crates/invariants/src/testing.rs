//! Invariants that need more than the objects of a moment: every write (disruptions and promises), or the VMs, quotas and capacities (usage).
//! Simulations and scenarios use them; the watchdog cannot.

mod capacity;
mod desired;
mod disturbances;
mod promises;
mod quota;
mod usage;

pub use capacity::{CapacityFacts, ReportedUsage, broken_capacity};
pub use disturbances::{Disturbances, Moment, confirms};
pub use promises::{Promise, Promises, overpromised};
pub use quota::broken_payg;
pub use usage::{ExpectedUsage, ReportedVm, UsageFacts, VmSize, broken_usage};
