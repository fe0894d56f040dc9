//! Why a request gets the hosts that it gets: for each host the filter that removed it, or what each weigher added
//! (document 60 section 14 B20). The decision itself is the engine's; this asks the same steps.

use std::collections::BTreeMap;

use berth_core::HostName;

use crate::{
    FilterName, Pipeline, Request, SchedulerError, Shortage, TieBreak,
    engine::{self, Filters, Scope},
    fleet::Fleet,
    order::{self, Ties, Weighed},
    run::Run,
};

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
        /// It holds the fail-over slot of the evacuated VM and comes before all that do not (B15).
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
    fleet: &Fleet,
    tie_break: TieBreak,
) -> Result<Explanation, SchedulerError> {
    let run = Run::new(request, fleet);
    let filters = Filters::prepare(pipeline, &run);
    let (mut left, removed) = filters.pass(pipeline, &run, Scope::Request)?;
    let mut steps: BTreeMap<HostName, Vec<Contribution>> = BTreeMap::new();
    for (weigher, multiplier) in &pipeline.weighers {
        let scores = weigher.prepare(&run, &left);
        engine::weigh(&mut left, &scores, *multiplier, |weighed, (activation, added)| {
            let contribution = Contribution { step: weigher.name(), activation, added };
            steps.entry(weighed.host.name.clone()).or_default().push(contribution);
        });
    }
    order::sort(&mut left, 0, &Ties::new(tie_break, request.instance.as_str()));
    let mut hosts: Vec<HostExplanation> = left.iter().map(|weighed| ranked(weighed, &mut steps)).collect();
    let removed_hosts = filters.removed_hosts(pipeline, &run).into_iter();
    hosts.extend(removed_hosts.map(|(host, filter)| HostExplanation { host, outcome: Outcome::Removed(filter) }));
    Ok(Explanation { pipeline: pipeline.name.clone(), hosts, removed, failed: filters.failed })
}

fn ranked(weighed: &Weighed<'_>, steps: &mut BTreeMap<HostName, Vec<Contribution>>) -> HostExplanation {
    let host = weighed.host.name.clone();
    let steps = steps.remove(&host).unwrap_or_default();
    HostExplanation { host, outcome: Outcome::Ranked { weight: weighed.weight, first_tier: weighed.first, steps } }
}
