//! The usage of commitments: which VMs of a project count in which of its commitments.
//!
//! The controller reconciles projects. A run reads the VMs of the project from the snapshot ([`berth_vm_source`]), where they
//! run from the hosts, and its commitments; it assigns the VMs from scratch (`core::usage`) and writes the statuses that
//! differ. It writes nothing else than the usage and the summary of commitments, and nothing after a partial read.

mod metrics;
mod plan;
mod problems;
mod read;
mod reconcile;
mod status;
mod watches;

pub use berth_projects::Error;
pub use metrics::UsageMetrics;
pub use plan::{Standing, StoredCommitment, UsagePlan};
pub use reconcile::{Context, Settings, UsageController};
