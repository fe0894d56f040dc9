//! Runs a pipeline: the filters narrow one set of hosts after the other, then the weighers rank the remaining hosts.
//! Runs with and without a tracer use the same code.

use berth_core::HostName;

use crate::candidates::{CandidateHosts, Inputs};
use crate::feasible_hosts::FeasibleHosts;
use crate::order::{Contest, Ties};
use crate::quota_verdict::QuotaVerdict;
use crate::run::{Facts, Run, StepEvent};
use crate::shortage::NAMED;
use crate::steps::{Effect, Scores, Weigher};
use crate::tanh::tanh;
use crate::trace::Trace;
use crate::tracer::{NoTracer, Tracer, WeigherRun};
use crate::{FilterName, Pipeline, Request, SchedulerError, Shortage, StepTrace, Stopwatch, TieBreak};

pub(crate) use crate::candidates::Scope;

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    pub hosts: Vec<HostName>,
    /// How many of them, from the front, hold the fail-over slot of the evacuated VM.
    pub first_tier: usize,
    /// How many hosts were considered and how many each filter removed, whether or not hosts are left.
    pub removed: Shortage,
    pub events: Vec<StepEvent>,
    /// What the filter of quota has decided, if the pipeline has it.
    pub quota: Option<QuotaVerdict>,
    /// The first filter that could not do its work; it removed every host that reached it.
    pub failed: Option<SchedulerError>,
    /// The effect of each step that had one, in the order of the pipeline; empty without a stopwatch.
    pub steps: Vec<StepTrace>,
}

pub(crate) fn run(
    pipeline: &Pipeline,
    request: &Request,
    facts: Facts<'_>,
    scope: Scope<'_>,
    tie_break: TieBreak,
    stopwatch: Option<&dyn Stopwatch>,
) -> Result<Decision, SchedulerError> {
    let run = Run::new(request, facts);
    let ties = Ties::new(tie_break, request.instance.as_str());
    let Some(stopwatch) = stopwatch else {
        return Ok(decision(rank(pipeline, &run, scope, &mut NoTracer)?, &run, ties));
    };
    let mut trace = Trace::new(stopwatch, run.fleet, ties);
    let ranked = rank(pipeline, &run, scope, &mut trace)?;
    Ok(Decision { steps: trace.into_steps(), ..decision(ranked, &run, ties) })
}

fn decision(ranked: Ranked<'_>, run: &Run<'_>, ties: Ties) -> Decision {
    let order = ranked.order(run.request.options.max_candidates, ties);
    Decision {
        hosts: order.iter().filter_map(|place| ranked.hosts.name(*place)).cloned().collect(),
        first_tier: ranked.first.len().min(order.len()),
        removed: ranked.removed,
        events: run.take_events(),
        quota: run.take_quota(),
        failed: ranked.failed,
        steps: Vec::new(),
    }
}

/// The hosts that are left, with their weights.
pub(crate) struct Ranked<'r> {
    pub(crate) hosts: FeasibleHosts<'r>,
    pub(crate) weights: Vec<f64>,
    /// The places of those that come before all others.
    pub(crate) first: Vec<usize>,
    pub(crate) removed: Shortage,
    pub(crate) failed: Option<SchedulerError>,
}

impl Ranked<'_> {
    /// The places of the hosts, best first, at most `limit` of them (0 keeps all).
    pub(crate) fn order(&self, limit: usize, ties: Ties) -> Vec<usize> {
        let name = |place| self.hosts.name(place).map_or("", HostName::as_str);
        Contest { weights: &self.weights, first: &self.first, ties, name }.order(limit)
    }
}

pub(crate) fn rank<'r>(
    pipeline: &Pipeline,
    run: &Run<'r>,
    scope: Scope<'_>,
    tracer: &mut impl Tracer<'r>,
) -> Result<Ranked<'r>, SchedulerError> {
    let Narrowed { field, inputs, removed, failed } = narrow(pipeline, run, scope, tracer)?;
    let hosts = FeasibleHosts::new(run.fleet, field);
    tracer.feasible_hosts(&hosts);
    let weights = input_weights(&hosts, &inputs, !pipeline.weighers.is_empty());
    let mut ranked = Ranked { hosts, weights, first: Vec::new(), removed, failed };
    for (weigher, multiplier) in &pipeline.weighers {
        weigh(&mut ranked, run, &**weigher, *multiplier, tracer);
    }
    Ok(ranked)
}

/// The hosts that are left before they are weighed.
struct Narrowed<'r> {
    field: CandidateHosts<'r>,
    inputs: Inputs<'r>,
    removed: Shortage,
    failed: Option<SchedulerError>,
}

fn narrow<'r>(
    pipeline: &Pipeline,
    run: &Run<'r>,
    scope: Scope<'_>,
    tracer: &mut impl Tracer<'r>,
) -> Result<Narrowed<'r>, SchedulerError> {
    run.request.options.validate()?;
    if pipeline.ignore_preselection {
        run.request.check_hypervisor_type()?;
    }
    let (mut field, inputs) = CandidateHosts::start(pipeline.ignore_preselection, run, scope);
    tracer.start(&field, &inputs);
    let zone_is_empty = run.fleet.zone_is_empty(&run.request.zone);
    let mut removed = Shortage { hosts: field.len(), zone_is_empty, ..Shortage::default() };
    let failed = filter(pipeline, run, &mut field, &mut removed, tracer);
    remove_unoffered(run, &mut field, &mut removed, tracer);
    Ok(Narrowed { field, inputs, removed, failed })
}

/// The hosts that are left of those in the scope, without a rank; the error of a filter that failed.
pub(crate) fn feasible(
    pipeline: &Pipeline,
    request: &Request,
    facts: Facts<'_>,
    scope: Scope<'_>,
) -> Result<Vec<HostName>, SchedulerError> {
    let run = Run::new(request, facts);
    let Narrowed { field, failed, .. } = narrow(pipeline, &run, scope, &mut NoTracer)?;
    let names = field.known.iter().filter_map(|id| run.fleet.columns().name(id).cloned());
    failed.map_or_else(|| Ok(names.collect()), Err)
}

/// Runs the filters on the candidates; returns the error of the first one that failed.
fn filter<'r>(
    pipeline: &Pipeline,
    run: &Run<'r>,
    field: &mut CandidateHosts<'r>,
    removed: &mut Shortage,
    tracer: &mut impl Tracer<'r>,
) -> Option<SchedulerError> {
    let (mut failed, mut before) = (None, field.len());
    for filter in &pipeline.filters {
        let name = filter.name();
        tracer.begin();
        let effect = filter.narrow(run, field).map_err(|reason| {
            field.clear();
            run.report(StepEvent { step: name.step, event: "step_failed", label: None });
            failed.get_or_insert(SchedulerError::Step { step: name.step, reason });
        });
        if effect != Ok(Effect::Skipped) {
            before = count(name, before, field, removed);
        }
        tracer.filter(name, effect, field);
    }
    failed
}

/// Notes how many hosts a step has removed; returns how many are left.
fn count(name: FilterName, before: usize, field: &CandidateHosts<'_>, removed: &mut Shortage) -> usize {
    let left = field.len();
    if left < before {
        removed.removed.push((name, before - left));
    }
    left
}

/// Removes what no pipeline offers. That is last, so that such a host counts for a filter that removes it anyway.
fn remove_unoffered<'r>(
    run: &Run<'r>,
    field: &mut CandidateHosts<'r>,
    removed: &mut Shortage,
    tracer: &mut impl Tracer<'r>,
) {
    let columns = run.fleet.columns();
    for (name, hosts) in [(FilterName::WITHHELD, &columns.withheld), (FilterName::UNREADABLE, &columns.unreadable)] {
        let before = field.len();
        if name == FilterName::UNREADABLE {
            removed.unreadable = unreadable(run, field);
        }
        field.known.drop(hosts);
        count(name, before, field, removed);
        tracer.filter(name, Ok(Effect::Done), field);
    }
}

/// The first hosts, by name, whose capacity makes no sense, and why.
fn unreadable(run: &Run<'_>, field: &CandidateHosts<'_>) -> Vec<(HostName, String)> {
    let all = &run.fleet.columns().unreadable;
    let hosts = all.iter().filter(|id| field.known.has(*id)).filter_map(|id| run.fleet.host(id));
    let mut named: Vec<_> = hosts.filter_map(|host| Some((&host.name, host.invalid_amount.as_deref()?))).collect();
    named.sort_unstable();
    named.into_iter().take(NAMED).map(|(name, text)| (name.clone(), text.to_owned())).collect()
}

/// The weights of the client: bounded only if weighers are added to them.
fn input_weights(hosts: &FeasibleHosts<'_>, inputs: &Inputs<'_>, bounded: bool) -> Vec<f64> {
    if inputs.is_empty() {
        return vec![0.0; hosts.len()];
    }
    let weights = hosts.input_weights(inputs);
    if bounded { weights.into_iter().map(tanh).collect() } else { weights }
}

/// Adds the scores of a weigher to the weights. A weigher with a score that is not a number has failed and has no
/// effect.
fn weigh<'r>(
    ranked: &mut Ranked<'r>,
    run: &Run<'r>,
    weigher: &dyn Weigher,
    multiplier: f64,
    tracer: &mut impl Tracer<'r>,
) {
    if ranked.weights.is_empty() {
        return;
    }
    tracer.begin();
    let scores = weigher.weigh(run, &ranked.hosts);
    let sound = scores.are_numbers();
    listen(tracer, weigher, multiplier, &scores, ranked.hosts.len());
    if !sound {
        return;
    }
    scores.add_to(&mut ranked.weights, multiplier);
    if let Scores::Few { places, first: true, .. } = scores
        && multiplier > 0.0
    {
        ranked.first.extend(places);
        ranked.first.sort_unstable();
        ranked.first.dedup();
    }
}

fn listen<'r, J: Tracer<'r>>(tracer: &mut J, weigher: &dyn Weigher, multiplier: f64, scores: &Scores, hosts: usize) {
    if J::LISTENS && *scores != Scores::NoEffect {
        let activations = scores.are_numbers().then(|| scores.activations(hosts));
        let (step, statistic) = (weigher.name(), weigher.statistic());
        tracer.weigher(&WeigherRun { step, statistic, multiplier, activations: activations.as_deref() });
    }
}
