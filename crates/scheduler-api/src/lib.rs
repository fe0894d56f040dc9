//! The external scheduler API: the server for Nova and other clients, the client that makes an external scheduler
//! behave like the one in this process, the loader of Pipeline objects, and the writes after
//! a decision: bookings and histories.
//!
//! Which host is best is decided in `berth_scheduler`.

mod backend;
mod bounded_queue;
pub mod claims;
mod client;
pub mod explain;
pub mod history;
pub mod metrics;
pub mod pipelines;
pub mod server;
pub mod tracking;
pub mod wire;

pub use backend::{Backend, GuestLookup, Outcome};
pub use berth_http::{Forward, Role};
pub use client::{Chosen, External, is_loopback_own};
