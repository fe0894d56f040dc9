//! One operator in memory, without a process around it: stores, scheduler, queues and controllers, and what flows between
//! them. The binary runs it against API servers, a simulation against doubles of them; both have the same manager.
//!
//! [`Memory`] exists before there is a way to any cluster, so that a start can be watched; [`Controllers`] when there is
//! one. When they run is decided by `operator`. [`rights`] says what all of them must be allowed to do.

mod controllers;
mod events;
mod memory;
mod metrics;
mod nova;
mod relief;
mod rights;
mod sources;
mod upkeep;

pub use controllers::{Controllers, Environment};
pub use events::Queues;
pub use memory::{Memory, MemorySettings};
pub use metrics::OperatorMetrics;
pub use nova::{Deciding, Nova};
pub(crate) use rights::counted_pipelines;
pub use rights::{all_rights, rights};
