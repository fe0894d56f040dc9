//! Why a request gets the hosts that it gets: for each host the filter that removed it, or what each weigher added. The
//! decision itself is the engine's; this listens to it.

use berth_capacity_view::Overlay;
use berth_core::HostName;

use crate::engine::{self, Ranked};
use crate::field::{Field, Inputs, Scope};
use crate::fleet::Fleet;
use crate::journal::{Journal, Weighing};
use crate::order::Ties;
use crate::run::Run;
use crate::steps::Effect;
use crate::survivors::Survivors;
use crate::tanh::tanh;
use crate::{FilterName, Pipeline, Request, SchedulerError, Shortage, TieBreak};

/// What a request would get, host by host.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The pipeline that was run.
    pub pipeline: String,
    /// The ranked hosts, best first, then the removed ones by name.
    pub hosts: Vec<HostExplanation>,
    /// How many hosts were looked at and what removed them.
    pub removed: Shortage,
    /// The filter that could not do its work, if any.
    pub failed: Option<SchedulerError>,
}

/// What became of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostExplanation {
    /// The host.
    pub host: HostName,
    /// Its fate.
    pub outcome: Outcome,
}

/// What a pipeline made of a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// This filter removed it first.
    Removed(FilterName),
    /// It is among the ranked hosts.
    Ranked {
        /// Its weight, input weight included.
        weight: f64,
        /// It holds the fail-over slot of the evacuated VM and comes before all that do not.
        first_tier: bool,
        /// What each weigher with an effect gave, in the order of the pipeline.
        steps: Vec<Contribution>,
    },
}

/// What a weigher gave a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// The weigher.
    pub step: &'static str,
    /// Its own number.
    pub activation: f64,
    /// What that added to the weight: multiplier times tanh of the activation.
    pub added: f64,
}

pub(crate) fn explain(
    pipeline: &Pipeline,
    request: &Request,
    (fleet, overlay): (&Fleet, &Overlay<'_>),
    tie_break: TieBreak,
) -> Result<Explanation, SchedulerError> {
    let run = Run::new(request, fleet, overlay);
    let mut fates = Fates { fleet, before: Field::default(), removed: Vec::new(), steps: Vec::new() };
    let ranked = engine::rank(pipeline, &run, Scope::Request, &mut fates)?;
    let order = ranked.order(0, Ties::new(tie_break, request.instance.as_str()));
    let mut hosts: Vec<HostExplanation> = order.into_iter().filter_map(|place| fates.ranked(&ranked, place)).collect();
    fates.removed.sort_by(|(a, _), (b, _)| a.cmp(b));
    let removed = fates.removed.into_iter();
    hosts.extend(removed.map(|(host, filter)| HostExplanation { host, outcome: Outcome::Removed(filter) }));
    Ok(Explanation { pipeline: pipeline.name.clone(), hosts, removed: ranked.removed, failed: ranked.failed })
}

/// Remembers what became of each host.
struct Fates<'r> {
    fleet: &'r Fleet,
    before: Field<'r>,
    removed: Vec<(HostName, FilterName)>,
    /// What each weigher gave the survivors.
    steps: Vec<Vec<Contribution>>,
}

impl Fates<'_> {
    fn ranked(&self, ranked: &Ranked<'_>, place: usize) -> Option<HostExplanation> {
        let steps = self.steps.iter().map(|contributions| contributions[place]).collect();
        let (weight, first_tier) = (ranked.weights[place], ranked.first.contains(&place));
        let host = ranked.hosts.name(place)?.clone();
        Some(HostExplanation { host, outcome: Outcome::Ranked { weight, first_tier, steps } })
    }
}

impl<'r> Journal<'r> for Fates<'r> {
    const LISTENS: bool = true;

    fn start(&mut self, field: &Field<'r>, _: &Inputs<'r>) {
        self.before = field.clone();
    }

    fn begin(&mut self) {}

    fn filter(&mut self, name: FilterName, _: Result<Effect, ()>, field: &Field<'r>) {
        self.before.known.drop(&field.known);
        self.before.strangers.retain(|stranger| !field.strangers.contains(stranger));
        let known = self.before.known.iter().filter_map(|id| self.fleet.host(id)).map(|host| &host.name);
        let gone = known.chain(self.before.strangers.iter().copied());
        self.removed.extend(gone.map(|host| (host.clone(), name)));
        self.before = field.clone();
    }

    fn survivors(&mut self, _: &Survivors<'r>) {}

    fn weigher(&mut self, weighing: &Weighing<'_>) {
        let (step, multiplier) = (weighing.step, weighing.multiplier);
        let contribution =
            |activation: &f64| Contribution { step, activation: *activation, added: multiplier * tanh(*activation) };
        self.steps.extend(weighing.activations.map(|all| all.iter().map(contribution).collect()));
    }
}
