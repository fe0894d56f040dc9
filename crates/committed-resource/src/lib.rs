//! The controller that turns a commitment into slots on hosts. A reconciliation reads facts, plans, decides on hosts
//! for the whole plan at once, applies, and reports. The controller of `berth-reservation` decides when a slot is in
//! force.

mod apply;
mod block_reason;
mod change_dry_run;
mod change_group;
mod cores;
mod disruption;
mod dry_run;
mod error;
mod facts;
mod ledger;
mod metrics;
mod object;
pub mod orphans;
mod pace;
mod plan;
mod read;
mod reconcile;
mod rejections;
mod running_vms;
mod served;
mod status;
mod watches;

pub use block_reason::{BlockReason, UnreadableHost};
pub use change_dry_run::{ChangeVerdict, ProposedCommitment};
pub use change_group::{OpenChangeFacts, hold_released_capacity};
pub use cores::CoresBook;
pub use dry_run::CommitmentDryRun;
pub use error::Error;
pub use facts::{Capacity, CommitmentFacts, Holding, NameLookup, Ready, Served, Site};
pub use ledger::{ClaimResult, CoresClaim, GroupAndZone, Ledger};
pub use metrics::CommitmentMetrics;
pub use pace::PacedCreates;
pub use plan::{CommitmentDecision, CommitmentPlan, Finalizer, Limits, Placing, ReleasedSlot, Verdict, decide, plan};
pub use reconcile::{CommittedResourceController, Context, Settings};
pub use status::{CommitmentReady, CommitmentReport, Delays, report, status};
