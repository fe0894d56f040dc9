//! The controller that turns a commitment into slots on hosts and says what became of it.
//!
//! A look reads facts, plans, decides on hosts for the whole plan at once, applies, and reports. It creates and deletes
//! slots; where a slot is in force, the controller of `berth-reservation` says.

mod apply;
mod braking;
mod cores;
mod error;
mod facts;
mod foresee;
mod hindrance;
mod ledger;
mod metrics;
mod object;
pub mod orphans;
mod pace;
mod plan;
mod read;
mod reconcile;
mod served;
mod status;
mod watches;

pub use cores::CoresBook;
pub use error::Error;
pub use facts::{Capacity, Facts, Holding, Ready, Served, Site, Taken};
pub use foresee::Outlook;
pub use hindrance::{Hindrance, UnreadableHost};
pub use ledger::{Claim, Ledger, Place, Verdict};
pub use metrics::CommitmentMetrics;
pub use pace::Paced;
pub use plan::{Course, Decided, Finalizer, Leave, Limits, Placing, Plan, decide, plan};
pub use reconcile::{CommittedResourceController, Context, Settings};
pub use status::{Delays, Report, Says, report, status};
