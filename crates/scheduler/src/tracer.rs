//! The interface through which a run reports its steps: to nothing, to [`crate::trace`], or to [`crate::explain`].

use crate::FilterName;
use crate::candidates::{CandidateHosts, Inputs};
use crate::feasible_hosts::FeasibleHosts;
use crate::steps::Effect;

/// Listens to a run.
pub(crate) trait Tracer<'r> {
    /// Whether there is a listener: data for the trace alone are only computed if there is one.
    const LISTENS: bool;

    fn start(&mut self, field: &CandidateHosts<'r>, inputs: &Inputs<'r>);

    fn begin(&mut self);

    /// A filter, or what removes hosts besides the filters, has left these hosts; with an error it has left none.
    fn filter(&mut self, name: FilterName, effect: Result<Effect, ()>, field: &CandidateHosts<'r>);

    fn feasible_hosts(&mut self, feasible_hosts: &FeasibleHosts<'r>);

    fn weigher(&mut self, weighing: &WeigherRun<'_>);
}

/// The result of one weigher.
pub(crate) struct WeigherRun<'w> {
    pub(crate) step: &'static str,
    pub(crate) statistic: Option<&'static str>,
    pub(crate) multiplier: f64,
    /// In the order of the feasible hosts; `None` if a score was not a number.
    pub(crate) activations: Option<&'w [f64]>,
}

/// No listener.
pub(crate) struct NoTracer;

impl<'r> Tracer<'r> for NoTracer {
    const LISTENS: bool = false;

    fn start(&mut self, _: &CandidateHosts<'r>, _: &Inputs<'r>) {}

    fn begin(&mut self) {}

    fn filter(&mut self, _: FilterName, _: Result<Effect, ()>, _: &CandidateHosts<'r>) {}

    fn feasible_hosts(&mut self, _: &FeasibleHosts<'r>) {}

    fn weigher(&mut self, _: &WeigherRun<'_>) {}
}
