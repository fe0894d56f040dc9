//! The trace of a run for the metrics of pipelines, made only for runs with a stopwatch.

use std::fmt;
use std::time::Duration;

use berth_core::HostName;

use crate::FilterName;
use crate::candidates::{CandidateHost, CandidateHosts, Inputs};
use crate::feasible_hosts::FeasibleHosts;
use crate::fleet::Fleet;
use crate::order::Ties;
use crate::ranking::{RankedHosts, Ranking};
use crate::steps::Effect;
use crate::tanh::tanh;
use crate::tracer::{Tracer, WeigherRun};

/// Tells how long something has taken: the crate itself has no clock.
pub trait Stopwatch: fmt::Debug {
    /// Time since some fixed moment before the run.
    fn elapsed(&self) -> Duration;
}

/// The trace of one step. Steps without an effect on the request have no trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTrace {
    pub step: &'static str,
    pub took: Duration,
    /// It could not do its work: a filter has removed all hosts, a weigher none and added nothing.
    pub failed: bool,
    pub hosts_in: usize,
    pub hosts_out: usize,
    /// The first five hosts after the step: which place each had before it, from 0. Empty for a step that failed.
    pub origins: Vec<usize>,
    /// For weighers with a statistic: its name and how much the step changed the order.
    pub impact: Option<(&'static str, f64)>,
    /// For weighers: the raw activation of each host.
    pub activations: Vec<(HostName, f64)>,
}

/// Writes the trace of a run.
pub(crate) struct Trace<'r, 's> {
    stopwatch: &'s dyn Stopwatch,
    fleet: &'r Fleet,
    ties: Ties,
    started: Duration,
    before: CandidateHosts<'r>,
    /// All hosts, in the order that filters see.
    line: RankedHosts<'r>,
    /// The weights of the client; steps after the first filter with an effect see 0 instead.
    inputs: Inputs<'r>,
    /// The names of the feasible hosts and their order, once there are any.
    names: Vec<&'r HostName>,
    standing: Ranking<'r>,
    steps: Vec<StepTrace>,
}

impl<'r, 's> Trace<'r, 's> {
    pub(crate) fn new(stopwatch: &'s dyn Stopwatch, fleet: &'r Fleet, ties: Ties) -> Self {
        Self {
            stopwatch,
            fleet,
            ties,
            started: Duration::ZERO,
            before: CandidateHosts::default(),
            line: RankedHosts::default(),
            inputs: Inputs::default(),
            names: Vec::new(),
            standing: Ranking::default(),
            steps: Vec::new(),
        }
    }

    pub(crate) fn into_steps(self) -> Vec<StepTrace> {
        self.steps
    }

    fn took(&self) -> Duration {
        self.stopwatch.elapsed().saturating_sub(self.started)
    }

    /// The order of the remaining hosts; computed again when their weights change.
    fn line_up(&mut self) {
        let Self { fleet, ties, before, inputs, .. } = self;
        let known = before.known.iter().filter_map(|id| {
            let rank = ties.rank(tanh(inputs.of_known(id)), fleet.columns().name(id)?);
            Some((rank, CandidateHost::Known(id)))
        });
        let unknown_hosts = before.unknown_hosts.iter();
        let unknown_hosts = unknown_hosts
            .map(|name| (ties.rank(tanh(inputs.of_unknown_host(name)), name), CandidateHost::UnknownHost(name)));
        self.line = known.chain(unknown_hosts).collect();
    }
}

impl<'r> Tracer<'r> for Trace<'r, '_> {
    const LISTENS: bool = true;

    fn start(&mut self, field: &CandidateHosts<'r>, inputs: &Inputs<'r>) {
        self.before = field.clone();
        self.inputs = inputs.clone();
        self.line_up();
    }

    fn begin(&mut self) {
        self.started = self.stopwatch.elapsed();
    }

    fn filter(&mut self, name: FilterName, effect: Result<Effect, ()>, field: &CandidateHosts<'r>) {
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

    fn feasible_hosts(&mut self, feasible_hosts: &FeasibleHosts<'r>) {
        self.names = (0..feasible_hosts.len()).filter_map(|place| feasible_hosts.name(place)).collect();
        let seen = feasible_hosts.input_weights(&self.inputs).into_iter().map(tanh).collect();
        self.standing = Ranking::new(self.ties, &self.names, seen);
    }

    fn weigher(&mut self, weighing: &WeigherRun<'_>) {
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
