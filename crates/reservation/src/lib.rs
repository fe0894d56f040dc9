//! The controller that puts slots into force on hosts and keeps them there.
//!
//! A slot is created by the controller of `berth-committed-resource`, mostly with a host already. From then on only
//! this controller writes `spec.targetHost`: it finds a host for a slot without one, says where the slot is in force,
//! and takes a host away that is gone or no good.

mod apply;
mod error;
mod facts;
mod foresee;
pub mod in_flight;
mod metrics;
pub mod oversubscription;
mod plan;
mod read;
mod reconcile;
mod request;
mod status;
mod watches;

pub use error::Error;
pub use facts::{Delays, Facts, HostFact, VmFact};
pub use foresee::Outlook;
pub use metrics::ReservationMetrics;
pub use plan::{Follow, Plan, Revocation, Step, Verified, plan};
pub use reconcile::{Context, ReservationController, Settings};
pub use status::{Place, Says, status};
