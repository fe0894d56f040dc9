//! Which host is good for a slot or a VM: pipelines of filters and weighers over the capacity view, and the one
//! interface through which controllers ask. Pure: no I/O, no clock, no randomness.
//!
//! Controllers know [`Scheduler`]; [`BuiltIn`] is the implementation in this process, fed with hosts and reservations
//! through [`BuiltIn::host_changed`] and [`BuiltIn::reservation_changed`].

mod booking;
mod built_in;
mod call;
mod catalog;
mod columns;
mod coverage;
mod domain_names;
mod engine;
mod error;
mod explain;
mod field;
mod fleet;
mod intent;
mod journal;
mod order;
mod params;
mod pipeline;
mod pipeline_choice;
mod pipeline_spec;
mod request;
mod row;
mod run;
mod scheduler;
mod service;
mod shipped;
mod shortage;
mod slot;
mod standing;
mod steps;
mod survivors;
mod tanh;
#[cfg(test)]
mod tests;
mod trace;

pub use booking::{Booking, Commitments, Guest};
pub use built_in::{BuiltIn, Held, HostReport, Settings};
pub use call::{Answer, AnswerSettings, Call};
pub use catalog::{StepDescription, filters, weighers};
pub use coverage::Coverage;
pub use domain_names::{DomainName, DomainNames, NoDomainNames};
pub use engine::Decision;
pub use error::SchedulerError;
pub use explain::{Contribution, Explanation, HostExplanation, Outcome};
pub use intent::{Hints, Intent};
pub use order::TieBreak;
pub use params::Param;
pub use pipeline::{Loaded, Pipeline, Pipelines};
pub use pipeline_choice::{PipelineChoice, pipeline_for};
pub use pipeline_spec::{PipelineSpec, StepSpec};
pub use request::{Candidates, Destination, InstanceGroup, Options, Request, ReservationType};
pub use run::StepEvent;
pub use scheduler::{EnqueueSlots, Scheduler};
pub use service::Hindrance;
pub use shortage::{FilterName, Shortage};
pub use slot::{Pin, Placed, Placement, Rank, SlotRequest, Verdict, WholeRequest};
pub use steps::{LoadFault, StepFault};
pub use trace::{StepTrace, Stopwatch};
