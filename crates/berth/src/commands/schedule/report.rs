//! The report about a dry run of a request. `docs/commands.md` promises the names of its JSON members.

use std::collections::BTreeSet;

use berth_cluster::ReadError;
use berth_core::HostName;
use berth_scheduler::{
    Claim, Contribution, Explanation, FilterName, HostExplanation, Intent, Outcome, QuotaVerdict, Request,
};
use serde::Serialize;

use crate::commands::amounts::Amounts;
use crate::commands::claims::ClaimRow;
use crate::commands::cluster_snapshot::UnreadableCluster;

/// The output for a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DryRun {
    pub(super) missing: Vec<UnreadableCluster>,
    pub(super) pipeline: String,
    /// `null` when the request has none, as for a plain creation by Nova.
    pub(super) intent: Option<&'static str>,
    pub(super) wanted: RequestedMachine,
    /// How many hosts were considered and how many each filter removed, as in conditions.
    pub(super) summary: String,
    pub(super) answer: Vec<String>,
    /// The hosts that no filter removed, best first.
    pub(super) ranked: Vec<Ranked>,
    /// The others, by filter, in the order of the pipeline.
    pub(super) removed: Vec<Removed>,
    /// The filter that could not do its work: it removed every host that reached it.
    pub(super) failed: Option<String>,
    /// What the filter of quota decides, if the pipeline has it.
    pub(super) quota: Option<QuotaVerdict>,
    /// Why that is not known.
    pub(super) quota_unknown: Option<String>,
    /// Capacity in the zone that is not free because VMs have it that have not appeared yet.
    pub(super) claims: Vec<ClaimRow>,
}

/// The request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RequestedMachine {
    pub(super) instances: u64,
    pub(super) flavor: String,
    pub(super) size: Amounts,
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
    pub(super) weighers: Vec<WeigherShare>,
}

/// The contribution of a weigher to the weight of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct WeigherShare {
    pub(super) step: &'static str,
    pub(super) activation: f64,
    pub(super) added: f64,
}

/// The hosts that a filter removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Removed {
    pub(super) filter: &'static str,
    pub(super) short: &'static str,
    pub(super) count: usize,
    pub(super) hosts: Vec<String>,
}

impl DryRun {
    /// What the filter decided without all quotas and commitments means nothing. Without the filter none of them matter.
    pub(super) fn forget_quota(&mut self, error: &ReadError) {
        if self.quota.take().is_some() {
            self.quota_unknown = Some(error.to_string());
        }
    }
}

pub(super) fn report(
    request: &Request,
    answer: &[HostName],
    explanation: Explanation,
    claims: &[Claim],
    missing: &[UnreadableCluster],
) -> DryRun {
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
        quota: explanation.quota,
        quota_unknown: None,
        claims: claims.iter().map(ClaimRow::from).collect(),
    }
}

fn wanted(request: &Request) -> RequestedMachine {
    RequestedMachine {
        instances: request.instances.max(1),
        flavor: request.flavor.name.to_string(),
        size: request.size.into(),
        zone: request.zone.to_string(),
        project: request.project.to_string(),
    }
}

fn ranked(host: &HostExplanation, answered: &BTreeSet<&HostName>) -> Option<Ranked> {
    let Outcome::Ranked { weight, first_tier, steps } = &host.outcome else { return None };
    let added = |one: &Contribution| WeigherShare { step: one.step, activation: one.activation, added: one.added };
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
