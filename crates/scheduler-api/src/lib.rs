//! The external scheduler API: the server that Nova and other controllers ask, the client behind which an external
//! scheduler looks like the one in this process, forwarding to the leader, the loader of Pipeline objects, and what is
//! written after a decision: VMs into slots, histories.
//!
//! Which host is best is decided in `berth_scheduler`.

mod backend;
mod client;
mod forward;
pub mod history;
mod lane;
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
