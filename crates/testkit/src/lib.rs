//! Test doubles for other crates: a kube-apiserver in memory, and a small world around it in which the reconciliations
//! of controllers run one after the other on tokio's paused clock.
//!
//! Tests talk to a [`Server`] through the real client of `kube`; a [`World`] has the stores, the scheduler and the
//! requests of one operator, fed from a server in a deterministic order. The tests bring the controllers, because this
//! crate depends on none.

mod cel;
mod checker;
mod discovery;
mod driver;
mod faults;
pub mod keystone;
mod kinds;
pub mod limes;
mod log;
mod meta;
mod objects;
mod patch;
mod process_pause;
mod quota;
mod random;
mod refusal;
mod request;
pub mod scenarios;
mod schema;
pub mod seeds;
mod selector;
mod server;
mod split;
mod stepped;
mod stop;
pub mod stub;
mod tls;
mod usage;
mod verb;
pub mod vms;
mod watch;
mod world;

pub use checker::{CheckerSettings, InvariantChecker};
pub use driver::{Driver, DriverError};
pub use faults::{Fault, Rule};
pub use log::{Effects, Write};
pub use objects::{Event, Happened, Snapshot};
pub use process_pause::{ProcessPause, Through};
pub use quota::{PlainCommitted, PlainQuotaUsage, use_quota_plainly};
pub use random::Random;
pub use refusal::Refusal;
pub use server::{DEFAULT_CLIENT, Server, path_of};
pub use split::{PlainGroup, PlainSize, split_plainly};
pub use stepped::SteppedClock;
pub use stop::Stop;
pub use tls::connect_tls;
pub use usage::{PlainCommitment, PlainVm, assign_plainly};
pub use verb::Verb;
pub use world::{World, next};
