//! The steps of a pipeline: filters take hosts out of the field, weighers say how good those are that are left.

mod fault;
pub(crate) mod filters;
pub(crate) mod question;
mod resource_weights;
mod scores;
pub(crate) mod weighers;

use std::fmt;

pub use fault::{LoadFault, StepFault};
pub(crate) use resource_weights::ResourceWeights;
pub(crate) use scores::Scores;

use crate::FilterName;
use crate::field::Field;
use crate::run::Run;
use crate::survivors::Survivors;

/// A step that was made of its parameters.
pub(crate) type Made<T> = Result<Box<T>, StepFault>;

/// Removes hosts.
pub(crate) trait Filter: fmt::Debug + Send + Sync {
    fn name(&self) -> FilterName;

    /// Takes hosts out of the field, or says why it cannot do its work.
    fn narrow(&self, run: &Run<'_>, field: &mut Field<'_>) -> Result<Effect, StepFault>;
}

/// What a filter did in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The request gives it nothing to do.
    Skipped,
    /// It has judged every host.
    Done,
}

/// Ranks hosts.
pub(crate) trait Weigher: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;

    /// The statistic of its metric of impact.
    fn statistic(&self) -> Option<&'static str> {
        None
    }

    /// How the weigher ranks the hosts that the filters have left.
    fn weigh(&self, run: &Run<'_>, hosts: &Survivors<'_>) -> Scores;
}
