//! Chooses hosts for slots and VMs: pipelines of filters and weighers over the capacity view, and the interface for
//! controllers. Pure: no I/O, no clock, no randomness.
//!
//! Controllers know [`Scheduler`]; [`BuiltIn`] is the implementation in this process, fed with hosts and reservations
//! through [`BuiltIn::host_changed`], [`BuiltIn::reservation_changed`] and [`BuiltIn::budget_changed`].

mod booking;
mod budget;
mod built_in;
mod call;
mod candidates;
mod catalog;
mod columns;
mod coverage;
mod domain_names;
mod engine;
mod error;
mod explain;
mod feasible_hosts;
mod fleet;
mod host_capacity;
mod intent;
mod order;
mod params;
mod pipeline;
mod pipeline_choice;
mod pipeline_spec;
mod quota_check;
mod quota_verdict;
mod ranking;
mod request;
mod row;
mod run;
mod scheduler;
mod service;
mod shipped;
mod shortage;
mod slot;
mod steps;
mod tanh;
#[cfg(test)]
mod tests;
mod trace;
mod tracer;

pub use berth_capacity_view::{Assumed, Claim, ClaimedQuota, HeldClaim};
pub use booking::{Booking, Commitments, Guest};
pub use budget::{BudgetChange, CommitmentKey, CommittedRam, CountedVms, GroupQuota, ResourceQuota, ZoneQuota};
pub use built_in::{BuiltIn, ClaimLimits, ClaimRefusal, Held, HostReport, Promises, Settings};
pub use call::{Answer, AnswerSettings, Call};
pub use catalog::{StepDescription, filters, weighers};
pub use coverage::Coverage;
pub use domain_names::{DomainName, DomainNames, NoDomainNames};
pub use engine::Decision;
pub use error::{Chooser, HostProblem, SchedulerError};
pub use explain::{Contribution, Explanation, HostExplanation, Outcome};
pub use host_capacity::HostCapacity;
pub use intent::{Hints, Intent};
pub use order::TieBreak;
pub use params::Param;
pub use pipeline::{Loaded, Pipeline, Pipelines};
pub use pipeline_choice::{PipelineChoice, pipeline_for};
pub use pipeline_spec::{PipelineSpec, StepSpec};
pub use quota_verdict::{QuotaDecision, QuotaFigures, QuotaResource, QuotaVerdict, ResourceFigures};
pub use request::{Candidates, Destination, InstanceGroup, Options, Request, ReservationType};
pub use run::StepEvent;
pub use scheduler::{EnqueueSlots, Scheduler};
pub use service::OutOfService;
pub use shortage::{FilterName, Shortage};
pub use slot::{
    CommitmentRequest, DryRunPlacement, Handover, HostVerdict, Pin, Placed, Placement, SlotRequest, WaitingRank,
};
pub use steps::{LoadError, StepError};
pub use trace::{StepTrace, Stopwatch};
