//! The steps of a pipeline: filters remove hosts, weighers rank the remaining hosts.

mod error;
pub(crate) mod filters;
pub(crate) mod question;
mod resource_weights;
mod scores;
pub(crate) mod weighers;

use std::fmt;

pub use error::{LoadError, StepError};
pub(crate) use resource_weights::ResourceWeights;
pub(crate) use scores::Scores;

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::feasible_hosts::FeasibleHosts;
use crate::run::Run;

/// A step that was made of its parameters.
pub(crate) type Made<T> = Result<Box<T>, StepError>;

/// Removes hosts.
pub(crate) trait Filter: fmt::Debug + Send + Sync {
    fn name(&self) -> FilterName;

    /// Removes hosts, or returns why the filter cannot work.
    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError>;
}

/// The effect of a filter in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Skipped,
    Done,
}

/// Ranks hosts.
pub(crate) trait Weigher: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;

    fn statistic(&self) -> Option<&'static str> {
        None
    }

    /// How the weigher ranks the hosts that the filters have left.
    fn weigh(&self, run: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores;
}
