//! For the tests and benches of other crates: an API server in memory, and a small world around it in which the looks of
//! controllers run one after the other on tokio's paused clock.
//!
//! A [`Server`] is spoken to by the real client of `kube`; a [`World`] has the stores, the scheduler and the wake-ups of
//! one operator, fed from a server in an order that does not change from run to run. Controllers are made by the tests,
//! because this crate knows none.

mod faults;
mod objects;
mod patch;
pub mod seeds;
mod service;
mod world;

pub use faults::{Fault, Verb};
pub use objects::{Event, Happened, Refusal};
pub use service::{Server, Write, path_of};
pub use world::{Queue, Stores, World};
