//! What every step of a run did, for the metrics of document 60 section 11. Made only for runs with a stopwatch; how
//! the numbers become metrics is for the API.

use std::fmt;
use std::time::Duration;

use berth_core::HostName;

use crate::FilterName;
use crate::field::{Field, Inputs, Spot};
use crate::fleet::Fleet;
use crate::journal::{Journal, Weighing};
use crate::order::Ties;
use crate::standing::{Line, Standing};
use crate::steps::Effect;
use crate::survivors::Survivors;
use crate::tanh::tanh;

/// Tells how long something has taken: the crate itself has no clock.
pub trait Stopwatch: fmt::Debug {
    /// Time since some fixed moment before the run.
    fn elapsed(&self) -> Duration;
}

/// What one step did. Steps that the request gives nothing to do have no trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTrace {
    /// The step.
    pub step: &'static str,
    /// How long it took.
    pub took: Duration,
    /// It could not do its work: a filter has removed all hosts, a weigher none and added nothing.
    pub failed: bool,
    /// Hosts before it.
    pub hosts_in: usize,
    /// Hosts after it.
    pub hosts_out: usize,
    /// The first five hosts after the step: which place each had before it, from 0. Empty for a step that failed.
    pub origins: Vec<usize>,
    /// For weighers with a statistic: its name and how much the step changed the order (section 11, impact).
    pub impact: Option<(&'static str, f64)>,
    /// For weighers: the raw activation of each host.
    pub activations: Vec<(HostName, f64)>,
}

/// Writes the trace of a run.
pub(crate) struct Trace<'r, 's> {
    stopwatch: &'s dyn Stopwatch,
    fleet: &'r Fleet,
    ties: Ties,
    begun: Duration,
    /// The hosts before the next filter.
    before: Field<'r>,
    /// All hosts, in the order that filters see.
    line: Line<'r>,
    /// What the caller says that hosts weigh; steps after the first filter with an effect see 0 instead.
    inputs: Inputs<'r>,
    /// The names of the survivors and their order, once there are any.
    names: Vec<&'r HostName>,
    standing: Standing<'r>,
    steps: Vec<StepTrace>,
}

impl<'r, 's> Trace<'r, 's> {
    pub(crate) fn new(stopwatch: &'s dyn Stopwatch, fleet: &'r Fleet, ties: Ties) -> Self {
        Self {
            stopwatch,
            fleet,
            ties,
            begun: Duration::ZERO,
            before: Field::default(),
            line: Line::default(),
            inputs: Inputs::default(),
            names: Vec::new(),
            standing: Standing::default(),
            steps: Vec::new(),
        }
    }

    pub(crate) fn into_steps(self) -> Vec<StepTrace> {
        self.steps
    }

    fn took(&self) -> Duration {
        self.stopwatch.elapsed().saturating_sub(self.begun)
    }

    /// The order of the hosts that are left; made anew when their weights change.
    fn line_up(&mut self) {
        let Self { fleet, ties, before, inputs, .. } = self;
        let known = before.known.iter().filter_map(|id| {
            let rank = ties.rank(tanh(inputs.of_known(id)), fleet.columns().name(id)?);
            Some((rank, Spot::Known(id)))
        });
        let strangers = before.strangers.iter();
        let strangers = strangers.map(|name| (ties.rank(tanh(inputs.of_stranger(name)), name), Spot::Stranger(name)));
        self.line = known.chain(strangers).collect();
    }
}

impl<'r> Journal<'r> for Trace<'r, '_> {
    const LISTENS: bool = true;

    fn start(&mut self, field: &Field<'r>, inputs: &Inputs<'r>) {
        self.before = field.clone();
        self.inputs = inputs.clone();
        self.line_up();
    }

    fn begin(&mut self) {
        self.begun = self.stopwatch.elapsed();
    }

    fn filter(&mut self, name: FilterName, effect: Result<Effect, ()>, field: &Field<'r>) {
        let took = self.took();
        if effect == Ok(Effect::Skipped) || [FilterName::WITHHELD, FilterName::UNREADABLE].contains(&name) {
            return;
        }
        let origins = self.line.origins(&self.before, field);
        self.steps.push(StepTrace {
            step: name.step,
            took,
            failed: effect.is_err(),
            hosts_in: self.before.len(),
            hosts_out: field.len(),
            origins,
            ..StepTrace::default()
        });
        self.before = field.clone();
        if !self.inputs.is_empty() {
            self.inputs = Inputs::default();
            self.line_up();
        }
    }

    fn survivors(&mut self, survivors: &Survivors<'r>) {
        self.names = (0..survivors.len()).filter_map(|place| survivors.name(place)).collect();
        let seen = survivors.input_weights(&self.inputs).into_iter().map(tanh).collect();
        self.standing = Standing::new(self.ties, &self.names, seen);
    }

    fn weigher(&mut self, weighing: &Weighing<'_>) {
        let mut step = StepTrace {
            step: weighing.step,
            took: self.took(),
            failed: weighing.activations.is_none(),
            hosts_in: self.names.len(),
            hosts_out: self.names.len(),
            ..StepTrace::default()
        };
        if let Some(activations) = weighing.activations {
            let after = self.standing.after(|place| weighing.multiplier * tanh(activations[place]));
            step.origins = self.standing.origins(&after);
            step.impact = weighing.statistic.map(|name| (name, self.standing.impact(&after, activations)));
            step.activations = self.names.iter().copied().cloned().zip(activations.iter().copied()).collect();
        }
        self.steps.push(step);
    }
}
