//! The controller that puts slots into force on hosts and keeps them there.
//!
//! A slot is created by the controller of `berth-committed-resource`, usually with a host. From then on only this
//! controller writes `spec.targetHost`: it finds a host for a slot without one, reports where the slot is in force, and
//! clears a host that is gone or not valid.

mod adoption;
mod apply;
mod dry_run;
mod error;
mod facts;
pub mod in_flight;
mod memory;
mod metrics;
pub mod oversubscription;
mod plan;
mod read;
mod reconcile;
mod request;
mod retries;
mod status;
mod watches;

pub use dry_run::ReservationDryRun;
pub use error::Error;
pub use facts::{Delays, HostFact, ReservationFacts, VmFact};
pub use memory::SlotMemory;
pub use metrics::ReservationMetrics;
pub use plan::{FollowedVm, ReservationPlan, ReservationStep, Revocation, VerificationPlan, plan};
pub use reconcile::{Context, ReservationController, Settings};
pub use status::{HostChange, SlotReady, status};
