//! What only whoever saw every write can judge: which disturbances were allowed, and whether promises were kept. Simulations
//! and scenarios see every write; the watchdog does not.

mod disturbances;
mod promises;
mod wish;

pub use disturbances::{Disturbances, Moment, confirms};
pub use promises::{Promise, Promises, overpromised};
