//! Invariants that need every write to be seen: disruptions and promises. Simulations and scenarios use them; the
//! watchdog cannot.

mod desired;
mod disturbances;
mod promises;

pub use disturbances::{Disturbances, Moment, confirms};
pub use promises::{Promise, Promises, overpromised};
