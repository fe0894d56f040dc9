//! The external scheduler API: the server for Nova and other clients, the client that makes an external scheduler
//! behave like the one in this process, forwarding to the leader, the loader of Pipeline objects, and the writes after
//! a decision: bookings and histories.
//!
//! Which host is best is decided in `berth_scheduler`.

mod backend;
mod bounded_queue;
pub mod claims;
mod client;
pub mod explain;
mod forward;
pub mod history;
pub mod metrics;
pub mod pipelines;
mod role;
pub mod server;
#[cfg(test)]
mod tests;
pub mod tracking;
mod web;
pub mod wire;

pub use backend::{Backend, GuestLookup, Outcome};
pub use client::{Chosen, External, is_loopback_own};
pub use forward::Forward;
pub use role::Role;
