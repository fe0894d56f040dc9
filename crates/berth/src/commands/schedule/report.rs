//! The account of a dry run: a value made of what was asked and what the scheduler explained. Its members are those of
//! the JSON form and do not change their names (docs/commands.md).

use std::collections::BTreeSet;

use berth_core::HostName;
use berth_scheduler::{Contribution, Explanation, FilterName, HostExplanation, Intent, Outcome, Request};
use serde::Serialize;

use crate::commands::amounts::Amounts;
use crate::commands::looking::Missing;

/// Everything that is told of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DryRun {
    /// Clusters that could not be read.
    pub(super) missing: Vec<Missing>,
    pub(super) pipeline: String,
    /// `null` when the request has none, as for a plain creation by Nova.
    pub(super) intent: Option<&'static str>,
    pub(super) wanted: Wanted,
    /// How many hosts were looked at and how many each filter removed, as in conditions.
    pub(super) summary: String,
    /// What the API would answer.
    pub(super) answer: Vec<String>,
    /// The hosts that no filter removed, best first.
    pub(super) ranked: Vec<Ranked>,
    /// The others, by filter, in the order of the pipeline.
    pub(super) removed: Vec<Removed>,
    /// The filter that could not do its work: it removed every host that reached it.
    pub(super) failed: Option<String>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Wanted {
    pub(super) instances: u64,
    pub(super) flavor: String,
    /// Of one instance.
    pub(super) size: Amounts,
    /// Empty means any.
    pub(super) zone: String,
    pub(super) project: String,
}

/// A host that is left.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ranked {
    pub(super) host: String,
    pub(super) weight: f64,
    /// It holds the fail-over slot of the evacuated VM and comes before all that do not.
    pub(super) first_tier: bool,
    /// It is in the answer: not left out by `max_candidates` or because the request does not list it.
    pub(super) answered: bool,
    pub(super) weighers: Vec<Part>,
}

/// What a weigher did for a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Part {
    pub(super) step: &'static str,
    pub(super) activation: f64,
    pub(super) added: f64,
}

/// What a filter removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Removed {
    pub(super) filter: &'static str,
    /// Its name in conditions.
    pub(super) short: &'static str,
    pub(super) count: usize,
    /// The hosts by name.
    pub(super) hosts: Vec<String>,
}

pub(super) fn report(request: &Request, answer: &[HostName], explanation: Explanation, missing: &[Missing]) -> DryRun {
    let answered: BTreeSet<&HostName> = answer.iter().collect();
    DryRun {
        missing: missing.to_vec(),
        intent: request.intent().map(Intent::as_str),
        wanted: wanted(request),
        summary: explanation.removed.to_string(),
        answer: answer.iter().map(ToString::to_string).collect(),
        ranked: explanation.hosts.iter().filter_map(|host| ranked(host, &answered)).collect(),
        removed: explanation.removed.removed.iter().map(|(name, count)| removed(*name, *count, &explanation)).collect(),
        failed: explanation.failed.as_ref().map(ToString::to_string),
        pipeline: explanation.pipeline,
    }
}

fn wanted(request: &Request) -> Wanted {
    Wanted {
        instances: request.instances.max(1),
        flavor: request.flavor.name.to_string(),
        size: request.size.into(),
        zone: request.zone.to_string(),
        project: request.project.to_string(),
    }
}

fn ranked(host: &HostExplanation, answered: &BTreeSet<&HostName>) -> Option<Ranked> {
    let Outcome::Ranked { weight, first_tier, steps } = &host.outcome else { return None };
    let added = |one: &Contribution| Part { step: one.step, activation: one.activation, added: one.added };
    Some(Ranked {
        host: host.host.to_string(),
        weight: *weight,
        first_tier: *first_tier,
        answered: answered.contains(&host.host),
        weighers: steps.iter().map(added).collect(),
    })
}

fn removed(name: FilterName, count: usize, explanation: &Explanation) -> Removed {
    let by_it = |host: &&HostExplanation| matches!(&host.outcome, Outcome::Removed(filter) if *filter == name);
    let hosts = explanation.hosts.iter().filter(by_it).map(|host| host.host.to_string());
    Removed { filter: name.step, short: name.short, count, hosts: hosts.collect() }
}
