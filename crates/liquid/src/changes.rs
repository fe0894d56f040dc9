//! The controller of `CommitmentChange` objects: it applies a change, one write after the other, and completes it or undoes all of it.
//!
//! What was done is never read from the status alone: each step compares with the objects, so that it can be repeated
//! (docs/architecture.md, "Changes of commitments").

mod apply;
mod error;
mod metrics;
mod outcome;
mod plan;
mod read;
mod reconcile;
mod retention;
mod status;
mod under_way;
mod watches;

pub use error::Error;
pub use metrics::ChangeMetrics;
pub use outcome::ItemOutcome;
pub(crate) use outcome::outcome;
pub use plan::{ChangeFacts, ItemFacts, ItemState, NextStep, RollBackReason, plan};
pub use reconcile::{ChangeController, Context, Settings};
pub use under_way::{ChangesUnderWay, UnderWay};
