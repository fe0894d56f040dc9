//! What projects use of their quota: of all VMs, and of those that no commitment pays for.
//!
//! The controller reconciles projects that have a ProjectQuota. A run reads the VMs of the project from the snapshot
//! ([`berth_vm_source`]), where they run from the hosts, and what its commitments pay for; it computes the usage of all
//! zones from scratch (`core::quota`) and writes the statuses that differ. It writes nothing else, and nothing after a
//! partial read.

mod metrics;
mod plan;
mod read;
mod reconcile;
mod status;
mod watches;

pub use berth_projects::Error;
pub use metrics::QuotaMetrics;
pub use reconcile::{Context, QuotaController, Settings};
