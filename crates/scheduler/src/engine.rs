//! Runs a pipeline: one pass over the hosts, each up to the first filter that removes it, then the weighers over
//! those that are left (document 60 section 3.5). What the answer is used for is decided elsewhere.

use std::collections::BTreeSet;

use berth_capacity_view::HostId;
use berth_core::HostName;

use crate::{
    Candidates, FilterName, Pipeline, Request, SchedulerError, Shortage, StepTrace, TieBreak,
    fleet::{Candidate, Fleet},
    order::{self, Ties, Weighed},
    run::{Run, StepEvent},
    shortage::NAMED,
    steps::{Check, Scores},
};

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The hosts, best first, at most `max_candidates`.
    pub hosts: Vec<HostName>,
    /// How many of them, from the front, hold the fail-over slot of the evacuated VM (document 60 B15).
    pub first_tier: usize,
    /// How many hosts were looked at and what removed the others, whether or not hosts are left.
    pub removed: Shortage,
    /// What steps have reported.
    pub events: Vec<StepEvent>,
    /// The first filter that could not do its work; it removed every host that reached it (document 60 B2).
    pub failed: Option<SchedulerError>,
    /// What each step did, in the order of the pipeline; empty without a stopwatch.
    pub steps: Vec<StepTrace>,
}

/// Which hosts a run looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'s> {
    /// Those of the request, or all, as the pipeline says.
    Request,
    /// Only these.
    Only(&'s [HostId]),
}

pub(crate) fn run(
    pipeline: &Pipeline,
    request: &Request,
    fleet: &Fleet,
    scope: Scope<'_>,
    tie_break: TieBreak,
) -> Result<Decision, SchedulerError> {
    let run = Run::new(request, fleet);
    let mut decision = decide(pipeline, &run, scope, tie_break)?;
    decision.events = run.into_events();
    Ok(decision)
}

fn decide<'r>(
    pipeline: &'r Pipeline,
    run: &'r Run<'r>,
    scope: Scope<'_>,
    tie_break: TieBreak,
) -> Result<Decision, SchedulerError> {
    let filters = Filters::prepare(pipeline, run);
    let (mut hosts, removed) = filters.pass(pipeline, run, scope)?;
    for (weigher, multiplier) in &pipeline.weighers {
        let scores = weigher.prepare(run, &hosts);
        weigh(&mut hosts, &scores, *multiplier, |_, _| {});
    }
    order::sort(&mut hosts, run.request.options.max_candidates, &Ties::new(tie_break, run.request.instance.as_str()));
    Ok(Decision {
        hosts: hosts.iter().map(|weighed| weighed.host.name.clone()).collect(),
        first_tier: hosts.iter().take_while(|weighed| weighed.first).count(),
        removed,
        events: Vec::new(),
        failed: filters.failed,
        steps: Vec::new(),
    })
}

/// Adds what a weigher says to the weights, and tells `each` its activation and what it adds. A weigher that gives
/// something that is no number has failed and has no effect.
pub(crate) fn weigh<'r>(
    hosts: &mut [Weighed<'r>],
    scores: &Scores<'r>,
    multiplier: f64,
    mut each: impl FnMut(&Weighed<'r>, (f64, f64)),
) {
    let (score, tier) = match scores {
        Scores::NoEffect => return,
        Scores::Each(score) => (score, None),
        Scores::Tiered(score, tier) => (score, Some(tier)),
    };
    let activations: Vec<f64> = hosts.iter().map(|weighed| score(&weighed.host)).collect();
    if activations.iter().any(|activation| activation.is_nan()) {
        return;
    }
    for (weighed, activation) in hosts.iter_mut().zip(activations) {
        let added = multiplier * activation.tanh();
        weighed.weight += added;
        weighed.first |= multiplier > 0.0 && tier.is_some_and(|tier| tier(&weighed.host));
        each(weighed, (activation, added));
    }
}

/// The filters of a pipeline, ready for one request.
pub(crate) struct Filters<'r> {
    checks: Vec<(FilterName, Ready<'r>)>,
    pub(crate) failed: Option<SchedulerError>,
}

/// A filter that has looked at the request.
enum Ready<'r> {
    Keep(Box<dyn Fn(&Candidate<'r>) -> bool + 'r>),
    /// The filter has failed: it lets no host pass.
    Nothing,
}

/// What removes hosts besides the filters of the pipeline.
const ALWAYS: [FilterName; 2] = [FilterName::WITHHELD, FilterName::UNREADABLE];

impl<'r> Filters<'r> {
    pub(crate) fn prepare(pipeline: &'r Pipeline, run: &'r Run<'r>) -> Self {
        let mut filters = Self { checks: Vec::with_capacity(pipeline.filters.len()), failed: None };
        for filter in &pipeline.filters {
            let name = filter.name();
            match filter.prepare(run) {
                Ok(Check::Skip) => {}
                Ok(Check::Keep(keep)) => filters.checks.push((name, Ready::Keep(keep))),
                Err(reason) => {
                    run.report(StepEvent { step: name.step, event: "step_failed", label: None });
                    filters.failed.get_or_insert(SchedulerError::Step { step: name.step, reason });
                    filters.checks.push((name, Ready::Nothing));
                }
            }
        }
        filters
    }

    /// The hosts that every filter keeps, with the weights of the request, and what removed the others.
    pub(crate) fn pass(
        &self,
        pipeline: &Pipeline,
        run: &Run<'r>,
        scope: Scope<'_>,
    ) -> Result<(Vec<Weighed<'r>>, Shortage), SchedulerError> {
        run.request.options.validate()?;
        if pipeline.ignore_preselection {
            run.request.check_hypervisor_type()?;
        }
        let mut sieve = Sieve::new(self, !pipeline.weighers.is_empty());
        match (scope, listed(pipeline, run)) {
            (Scope::Only(ids), _) => {
                sieve.extend(ids.iter().filter_map(|id| run.fleet.at(*id)).map(|host| (host, 0.0)));
            }
            (Scope::Request, None) => sieve.extend(run.fleet.candidates().map(|host| (host, 0.0))),
            (Scope::Request, Some(hosts)) => {
                sieve.extend(distinct(hosts).map(|(name, weight)| (run.fleet.named(name), weight)));
            }
        }
        Ok(sieve.finish())
    }

    /// The hosts that are removed, each with what removes it first, by name.
    pub(crate) fn removed_hosts(&self, pipeline: &Pipeline, run: &Run<'r>) -> Vec<(HostName, FilterName)> {
        let hosts: Vec<Candidate<'r>> = match listed(pipeline, run) {
            None => run.fleet.candidates().collect(),
            Some(hosts) => distinct(hosts).map(|(name, _)| run.fleet.named(name)).collect(),
        };
        let removed = hosts.iter().filter_map(|host| Some((host.name.clone(), self.removed_by(host)?)));
        let mut removed: Vec<_> = removed.collect();
        removed.sort_by(|(a, _), (b, _)| a.cmp(b));
        removed
    }

    /// What removes a host first, as a place among the checks and what always removes.
    fn objection(&self, host: &Candidate<'r>) -> Option<usize> {
        let removes = |ready: &Ready<'r>| match ready {
            Ready::Keep(keep) => !keep(host),
            Ready::Nothing => true,
        };
        let filter = self.checks.iter().position(|(_, ready)| removes(ready));
        filter.or_else(|| {
            let seen = host.seen?;
            let always = if seen.row.withheld { Some(0) } else { seen.row.unreadable.then_some(1) };
            always.map(|place| self.checks.len() + place)
        })
    }

    /// What removes a host first.
    fn removed_by(&self, host: &Candidate<'r>) -> Option<FilterName> {
        self.objection(host).and_then(|place| self.names().nth(place))
    }

    fn names(&self) -> impl Iterator<Item = FilterName> {
        self.checks.iter().map(|(name, _)| *name).chain(ALWAYS)
    }
}

/// Lets hosts through and counts those that it keeps back.
struct Sieve<'f, 'r> {
    filters: &'f Filters<'r>,
    /// Input weights are bounded only when weighers are added to them (document 60 section 3.5).
    bounded: bool,
    left: Vec<Weighed<'r>>,
    hosts: usize,
    removed: Vec<usize>,
    unreadable: Vec<(&'r HostName, &'r str)>,
}

impl<'f, 'r> Sieve<'f, 'r> {
    fn new(filters: &'f Filters<'r>, bounded: bool) -> Self {
        let removed = vec![0; filters.checks.len() + ALWAYS.len()];
        Self { filters, bounded, left: Vec::new(), hosts: 0, removed, unreadable: Vec::new() }
    }

    fn extend(&mut self, hosts: impl Iterator<Item = (Candidate<'r>, f64)>) {
        for (host, weight) in hosts {
            self.hosts += 1;
            let Some(place) = self.filters.objection(&host) else {
                let weight = if self.bounded && weight != 0.0 { weight.tanh() } else { weight };
                self.left.push(Weighed { host, weight, first: false });
                continue;
            };
            self.removed[place] += 1;
            if place + 1 == self.removed.len() {
                let text = host.seen.and_then(|seen| seen.host().nonsense.as_deref());
                self.unreadable.extend(text.map(|text| (host.name, text)));
            }
        }
    }

    fn finish(mut self) -> (Vec<Weighed<'r>>, Shortage) {
        self.unreadable.sort_unstable();
        let named = self.unreadable.iter().take(NAMED);
        let counts = self.filters.names().zip(self.removed).filter(|(_, count)| *count > 0);
        let shortage = Shortage {
            hosts: self.hosts,
            removed: counts.collect(),
            unreadable: named.map(|(name, text)| ((*name).clone(), (*text).to_owned())).collect(),
        };
        (self.left, shortage)
    }
}

/// The hosts that the caller lists, when the pipeline keeps to them.
fn listed<'r>(pipeline: &Pipeline, run: &Run<'r>) -> Option<&'r [(HostName, f64)]> {
    match &run.request.candidates {
        Candidates::Listed(hosts) if !pipeline.ignore_preselection => Some(hosts),
        _ => None,
    }
}

/// A host that is listed twice counts once, with its first weight.
fn distinct(hosts: &[(HostName, f64)]) -> impl Iterator<Item = (&HostName, f64)> {
    let mut known = BTreeSet::new();
    hosts.iter().filter(move |(name, _)| known.insert(name)).map(|(name, weight)| (name, *weight))
}
