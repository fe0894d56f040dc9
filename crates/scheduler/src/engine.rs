//! Runs a pipeline: the filters narrow one set of hosts after the other, then the weighers rank those that are left.
//! There is this one way, whether somebody listens to it or not. What the answer is used for is decided elsewhere.

use berth_capacity_view::Overlay;
use berth_core::HostName;

use crate::field::{Field, Inputs};
use crate::fleet::Fleet;
use crate::journal::{Journal, Nobody, Weighing};
use crate::order::{Contest, Ties};
use crate::run::{Run, StepEvent};
use crate::shortage::NAMED;
use crate::steps::{Effect, Scores, Weigher};
use crate::survivors::Survivors;
use crate::tanh::tanh;
use crate::trace::Trace;
use crate::{FilterName, Pipeline, Request, SchedulerError, Shortage, StepTrace, Stopwatch, TieBreak};

pub(crate) use crate::field::Scope;

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The hosts, best first, at most `max_candidates`.
    pub hosts: Vec<HostName>,
    /// How many of them, from the front, hold the fail-over slot of the evacuated VM.
    pub first_tier: usize,
    /// How many hosts were looked at and what removed the others, whether or not hosts are left.
    pub removed: Shortage,
    /// What steps have reported.
    pub events: Vec<StepEvent>,
    /// The first filter that could not do its work; it removed every host that reached it.
    pub failed: Option<SchedulerError>,
    /// What each step with an effect did, in the order of the pipeline; empty without a stopwatch.
    pub steps: Vec<StepTrace>,
}

pub(crate) fn run(
    pipeline: &Pipeline,
    request: &Request,
    (fleet, overlay): (&Fleet, &Overlay<'_>),
    scope: Scope<'_>,
    tie_break: TieBreak,
    stopwatch: Option<&dyn Stopwatch>,
) -> Result<Decision, SchedulerError> {
    let run = Run::new(request, fleet, overlay);
    let ties = Ties::new(tie_break, request.instance.as_str());
    let Some(stopwatch) = stopwatch else { return Ok(decision(rank(pipeline, &run, scope, &mut Nobody)?, &run, ties)) };
    let mut trace = Trace::new(stopwatch, fleet, ties);
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
        failed: ranked.failed,
        steps: Vec::new(),
    }
}

/// The hosts that are left, with their weights.
pub(crate) struct Ranked<'r> {
    pub(crate) hosts: Survivors<'r>,
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

/// Filters and weighs.
pub(crate) fn rank<'r>(
    pipeline: &Pipeline,
    run: &Run<'r>,
    scope: Scope<'_>,
    journal: &mut impl Journal<'r>,
) -> Result<Ranked<'r>, SchedulerError> {
    run.request.options.validate()?;
    if pipeline.ignore_preselection {
        run.request.check_hypervisor_type()?;
    }
    let (mut field, inputs) = Field::start(pipeline.ignore_preselection, run, scope);
    journal.start(&field, &inputs);
    let mut removed = Shortage { hosts: field.len(), ..Shortage::default() };
    let failed = filter(pipeline, run, &mut field, &mut removed, journal);
    remove_unoffered(run, &mut field, &mut removed, journal);
    let hosts = Survivors::new(run.fleet, field);
    journal.survivors(&hosts);
    let weights = input_weights(&hosts, &inputs, !pipeline.weighers.is_empty());
    let mut ranked = Ranked { hosts, weights, first: Vec::new(), removed, failed };
    for (weigher, multiplier) in &pipeline.weighers {
        weigh(&mut ranked, run, &**weigher, *multiplier, journal);
    }
    Ok(ranked)
}

/// Lets the filters narrow the field; returns why the first one that failed did.
fn filter<'r>(
    pipeline: &Pipeline,
    run: &Run<'r>,
    field: &mut Field<'r>,
    removed: &mut Shortage,
    journal: &mut impl Journal<'r>,
) -> Option<SchedulerError> {
    let (mut failed, mut before) = (None, field.len());
    for filter in &pipeline.filters {
        let name = filter.name();
        journal.begin();
        let effect = filter.narrow(run, field).map_err(|reason| {
            field.clear();
            run.report(StepEvent { step: name.step, event: "step_failed", label: None });
            failed.get_or_insert(SchedulerError::Step { step: name.step, reason });
        });
        if effect != Ok(Effect::Skipped) {
            before = count(name, before, field, removed);
        }
        journal.filter(name, effect, field);
    }
    failed
}

/// Notes how many hosts a step has removed; returns how many are left.
fn count(name: FilterName, before: usize, field: &Field<'_>, removed: &mut Shortage) -> usize {
    let left = field.len();
    if left < before {
        removed.removed.push((name, before - left));
    }
    left
}

/// Removes what no pipeline offers. That is last, so that such a host counts for a filter that removes it anyway.
fn remove_unoffered<'r>(run: &Run<'r>, field: &mut Field<'r>, removed: &mut Shortage, journal: &mut impl Journal<'r>) {
    let columns = run.fleet.columns();
    for (name, hosts) in [(FilterName::WITHHELD, &columns.withheld), (FilterName::UNREADABLE, &columns.unreadable)] {
        let before = field.len();
        if name == FilterName::UNREADABLE {
            removed.unreadable = unreadable(run, field);
        }
        field.known.drop(hosts);
        count(name, before, field, removed);
        journal.filter(name, Ok(Effect::Done), field);
    }
}

/// The first hosts, by name, whose capacity makes no sense, and why.
fn unreadable(run: &Run<'_>, field: &Field<'_>) -> Vec<(HostName, String)> {
    let all = &run.fleet.columns().unreadable;
    let hosts = all.iter().filter(|id| field.known.has(*id)).filter_map(|id| run.fleet.host(id));
    let mut named: Vec<_> = hosts.filter_map(|host| Some((&host.name, host.nonsense.as_deref()?))).collect();
    named.sort_unstable();
    named.into_iter().take(NAMED).map(|(name, text)| (name.clone(), text.to_owned())).collect()
}

/// What the caller says that the hosts weigh: bounded only when weighers are added to it.
fn input_weights(hosts: &Survivors<'_>, inputs: &Inputs<'_>, bounded: bool) -> Vec<f64> {
    if inputs.is_empty() {
        return vec![0.0; hosts.len()];
    }
    let weights = hosts.input_weights(inputs);
    if bounded { weights.into_iter().map(tanh).collect() } else { weights }
}

/// Adds what a weigher says to the weights. One that gives something that is no number has failed and has no effect.
fn weigh<'r>(
    ranked: &mut Ranked<'r>,
    run: &Run<'r>,
    weigher: &dyn Weigher,
    multiplier: f64,
    journal: &mut impl Journal<'r>,
) {
    if ranked.weights.is_empty() {
        return;
    }
    journal.begin();
    let scores = weigher.weigh(run, &ranked.hosts);
    let sound = scores.are_numbers();
    listen(journal, weigher, multiplier, &scores, ranked.hosts.len());
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

fn listen<'r, J: Journal<'r>>(journal: &mut J, weigher: &dyn Weigher, multiplier: f64, scores: &Scores, hosts: usize) {
    if J::LISTENS && *scores != Scores::NoEffect {
        let activations = scores.are_numbers().then(|| scores.activations(hosts));
        let (step, statistic) = (weigher.name(), weigher.statistic());
        journal.weigher(&Weighing { step, statistic, multiplier, activations: activations.as_deref() });
    }
}
