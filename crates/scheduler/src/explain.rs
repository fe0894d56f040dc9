//! Why a request gets the hosts that it gets: for each host the filter that removed it, or what each weigher added. The
//! decision itself is the engine's; this listens to it.

use berth_core::HostName;

use crate::candidates::{CandidateHosts, Inputs, Scope};
use crate::engine::{self, Ranked};
use crate::feasible_hosts::FeasibleHosts;
use crate::fleet::Fleet;
use crate::order::Ties;
use crate::quota_verdict::QuotaVerdict;
use crate::run::{Facts, Run};
use crate::steps::Effect;
use crate::tanh::tanh;
use crate::tracer::{Tracer, WeigherRun};
use crate::{FilterName, Pipeline, Request, SchedulerError, Shortage, TieBreak};

/// The result of a request, host by host.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub pipeline: String,
    /// The ranked hosts, best first, then the removed ones by name.
    pub hosts: Vec<HostExplanation>,
    /// How many hosts were considered and how many each filter removed.
    pub removed: Shortage,
    /// What the filter of quota has decided, if the pipeline has it.
    pub quota: Option<QuotaVerdict>,
    /// The filter that could not do its work, if any.
    pub failed: Option<SchedulerError>,
}

/// The result for one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostExplanation {
    pub host: HostName,
    pub outcome: Outcome,
}

/// The outcome of a pipeline for a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Removed(FilterName),
    Ranked {
        weight: f64,
        /// It holds the fail-over slot of the evacuated VM and comes before all that do not.
        first_tier: bool,
        /// The contribution of each weigher with an effect, in the order of the pipeline.
        steps: Vec<Contribution>,
    },
}

/// The contribution of a weigher to a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    pub step: &'static str,
    pub activation: f64,
    /// The addition to the weight: multiplier times tanh of the activation.
    pub added: f64,
}

pub(crate) fn explain(
    pipeline: &Pipeline,
    request: &Request,
    facts: Facts<'_>,
    tie_break: TieBreak,
) -> Result<Explanation, SchedulerError> {
    let run = Run::new(request, facts);
    let mut fates =
        HostOutcomes { fleet: run.fleet, before: CandidateHosts::default(), removed: Vec::new(), steps: Vec::new() };
    let ranked = engine::rank(pipeline, &run, Scope::Request, &mut fates)?;
    let order = ranked.order(0, Ties::new(tie_break, request.instance.as_str()));
    let mut hosts: Vec<HostExplanation> = order.into_iter().filter_map(|place| fates.ranked(&ranked, place)).collect();
    fates.removed.sort_by(|(a, _), (b, _)| a.cmp(b));
    let removed = fates.removed.into_iter();
    hosts.extend(removed.map(|(host, filter)| HostExplanation { host, outcome: Outcome::Removed(filter) }));
    Ok(Explanation {
        pipeline: pipeline.name.clone(),
        hosts,
        removed: ranked.removed,
        quota: run.take_quota(),
        failed: ranked.failed,
    })
}

/// Remembers what became of each host.
struct HostOutcomes<'r> {
    fleet: &'r Fleet,
    before: CandidateHosts<'r>,
    removed: Vec<(HostName, FilterName)>,
    steps: Vec<Vec<Contribution>>,
}

impl HostOutcomes<'_> {
    fn ranked(&self, ranked: &Ranked<'_>, place: usize) -> Option<HostExplanation> {
        let steps = self.steps.iter().map(|contributions| contributions[place]).collect();
        let (weight, first_tier) = (ranked.weights[place], ranked.first.contains(&place));
        let host = ranked.hosts.name(place)?.clone();
        Some(HostExplanation { host, outcome: Outcome::Ranked { weight, first_tier, steps } })
    }
}

impl<'r> Tracer<'r> for HostOutcomes<'r> {
    const LISTENS: bool = true;

    fn start(&mut self, field: &CandidateHosts<'r>, _: &Inputs<'r>) {
        self.before = field.clone();
    }

    fn begin(&mut self) {}

    fn filter(&mut self, name: FilterName, _: Result<Effect, ()>, field: &CandidateHosts<'r>) {
        self.before.known.drop(&field.known);
        self.before.unknown_hosts.retain(|unknown_host| !field.unknown_hosts.contains(unknown_host));
        let known = self.before.known.iter().filter_map(|id| self.fleet.host(id)).map(|host| &host.name);
        let gone = known.chain(self.before.unknown_hosts.iter().copied());
        self.removed.extend(gone.map(|host| (host.clone(), name)));
        self.before = field.clone();
    }

    fn feasible_hosts(&mut self, _: &FeasibleHosts<'r>) {}

    fn weigher(&mut self, weighing: &WeigherRun<'_>) {
        let (step, multiplier) = (weighing.step, weighing.multiplier);
        let contribution =
            |activation: &f64| Contribution { step, activation: *activation, added: multiplier * tanh(*activation) };
        self.steps.extend(weighing.activations.map(|all| all.iter().map(contribution).collect()));
    }
}
