//! For the tests and benches of other crates: a double of kube-apiserver in memory, and a small world around it in which
//! the looks of controllers run one after the other on tokio's paused clock.
//!
//! A [`Server`] is spoken to by the real client of `kube`; a [`World`] has the stores, the scheduler and the wake-ups of
//! one operator, fed from a server in an order that does not change from run to run. Controllers are made by the tests,
//! because this crate knows none.

mod cel;
mod discovery;
mod faults;
mod gate;
mod judge;
mod kinds;
mod log;
mod meta;
mod objects;
mod patch;
mod random;
mod refusal;
mod request;
mod schema;
pub mod seeds;
mod selector;
mod server;
mod stepped;
mod stop;
mod verb;
mod watch;
mod world;

pub use faults::{Fault, Rule};
pub use gate::{Gate, Through};
pub use judge::{Judge, Rules};
pub use log::{Effects, Write};
pub use objects::{Event, Happened, Snapshot};
pub use random::Random;
pub use refusal::Refusal;
pub use server::{SOMEBODY, Server, path_of};
pub use stepped::SteppedClock;
pub use stop::Stop;
pub use verb::Verb;
pub use world::{World, next};
