//! Invariants that need more than the objects of a moment: every write (disruptions and promises), or the VMs (usage).
//! Simulations and scenarios use them; the watchdog cannot.

mod desired;
mod disturbances;
mod promises;
mod usage;

pub use disturbances::{Disturbances, Moment, confirms};
pub use promises::{Promise, Promises, overpromised};
pub use usage::{ExpectedUsage, ReportedVm, UsageFacts, VmSize, broken_usage};
