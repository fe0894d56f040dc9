//! The report about a zone, a function of facts. `docs/commands.md` promises the names of its JSON members.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_cluster::Entry;
use berth_core::commitment::{ResourceType, Spec};
use berth_core::flavor::{FlavorGroups, Ratio};
use berth_core::liquid::capacity::{CapacityParts, PlaceCapacity};
use berth_core::liquid::names::{ResourceKind, resource_name};
use berth_core::liquid::units::RamUnit;
use berth_core::{GroupName, Zone};
use berth_crds::{CommittedResource, FlavorGroupCapacity, ProjectQuota, conditions, facts};
use jiff::Timestamp;
use serde::Serialize;

use crate::commands::cluster_snapshot::UnreadableCluster;
use crate::wiring::is_sold;

const GIB: i64 = 1 << 30;
/// The unit of what is counted one by one.
const PIECE: &str = "piece";
/// The resources in the order of their weight for people.
const SHOWN: [ResourceKind; 3] = [ResourceKind::Ram, ResourceKind::Cores, ResourceKind::Instances];

/// What the report is made of.
pub(super) struct ZoneFacts<'a> {
    pub(super) zone: &'a Zone,
    pub(super) hosts: usize,
    /// `None`: they are unknown.
    pub(super) groups: Option<&'a FlavorGroups>,
    pub(super) groups_unknown: Option<String>,
    pub(super) capacities: &'a [Entry<FlavorGroupCapacity>],
    pub(super) commitments: &'a [Entry<CommittedResource>],
    pub(super) quotas: &'a [Entry<ProjectQuota>],
    pub(super) quota_unknown: Option<String>,
    pub(super) unit_unknown: Option<String>,
    /// The unit in which Limes counts RAM, as far as it is known.
    pub(super) unit_of: &'a dyn Fn(&GroupName) -> RamUnit,
    pub(super) max_age: Duration,
    pub(super) now: Timestamp,
    pub(super) missing: &'a [UnreadableCluster],
}

/// The output for a zone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ZoneReportView {
    pub(super) missing: Vec<UnreadableCluster>,
    pub(super) zone: String,
    pub(super) hosts: usize,
    pub(super) groups_unknown: Option<String>,
    pub(super) quota_unknown: Option<String>,
    /// Why RAM is in the configured units.
    pub(super) unit_unknown: Option<String>,
    /// Older objects are not used.
    pub(super) max_age_seconds: u64,
    pub(super) groups: Vec<GroupRow>,
}

/// A flavor group in the zone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupRow {
    pub(super) group: String,
    /// The smallest flavor, in which slots are counted.
    pub(super) flavor: String,
    /// The object that has the numbers.
    pub(super) name: String,
    pub(super) cluster: String,
    /// Whether it is used: it says so, and is not too old.
    pub(super) ready: bool,
    pub(super) too_old: bool,
    /// The message of its condition.
    pub(super) message: String,
    pub(super) age_seconds: Option<u64>,
    /// An amount in it that is not one.
    pub(super) wrong: Option<String>,
    pub(super) resources: Vec<ResourceRow>,
}

/// The numbers of a resource, in its unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceRow {
    #[serde(skip)]
    pub(super) kind: ResourceKind,
    /// Its name and its unit in the service info.
    pub(super) resource: String,
    pub(super) unit: String,
    pub(super) running: u64,
    pub(super) reserved: u64,
    pub(super) free: u64,
    pub(super) capacity: u64,
    /// What commitments have; `null` for instances, which are not sold.
    pub(super) sold: Option<i64>,
    /// The sum over all projects; `null` if it is unknown.
    pub(super) quota: Option<i64>,
}

pub(super) fn report(facts: &ZoneFacts<'_>) -> ZoneReportView {
    let mut groups: BTreeMap<&str, &Entry<FlavorGroupCapacity>> = BTreeMap::new();
    let of_zone = |one: &&Entry<FlavorGroupCapacity>| one.object.spec.availability_zone == facts.zone.as_str();
    for one in facts.capacities.iter().filter(of_zone) {
        let first = groups.entry(&one.object.spec.flavor_group).or_insert(one);
        if (&one.key.name, &one.key.cluster) < (&first.key.name, &first.key.cluster) {
            *first = one;
        }
    }
    ZoneReportView {
        missing: facts.missing.to_vec(),
        zone: facts.zone.to_string(),
        hosts: facts.hosts,
        groups_unknown: facts.groups_unknown.clone(),
        quota_unknown: facts.quota_unknown.clone(),
        unit_unknown: facts.unit_unknown.clone(),
        max_age_seconds: facts.max_age.as_secs(),
        groups: groups.into_values().map(|one| group_row(facts, one)).collect(),
    }
}

fn group_row(facts: &ZoneFacts<'_>, one: &Entry<FlavorGroupCapacity>) -> GroupRow {
    let (group, status) = (GroupName::from(one.object.spec.flavor_group.as_str()), one.object.status.as_ref());
    let condition = status.and_then(|status| conditions::ready(&status.conditions));
    let written = status.and_then(|status| status.last_reconcile_at.as_ref());
    let age = written.map(|at| u64::try_from(facts.now.duration_since(at.0).as_secs()).unwrap_or(0));
    let found = facts::place_capacity(&one.object);
    let place = found.as_ref().copied().unwrap_or_default();
    let ready = facts::is_up_to_date(&one.object, facts.now, facts.max_age);
    let says_ready = status.is_some_and(|status| conditions::is_ready(&status.conditions));
    GroupRow {
        flavor: status.and_then(|status| status.smallest_flavor_name.clone()).unwrap_or_default(),
        name: one.key.name.to_string(),
        cluster: one.key.cluster.to_string(),
        ready,
        too_old: says_ready && !ready && age.is_some(),
        message: condition.map(|ready| ready.message.clone()).unwrap_or_default(),
        age_seconds: age,
        wrong: found.err().map(|wrong| wrong.to_string()),
        resources: SHOWN.into_iter().map(|kind| resource_row(facts, &group, kind, &place)).collect(),
        group: group.to_string(),
    }
}

fn resource_row(facts: &ZoneFacts<'_>, group: &GroupName, kind: ResourceKind, place: &PlaceCapacity) -> ResourceRow {
    let unit = (facts.unit_of)(group);
    let ratio = facts.groups.and_then(|groups| groups.get(group)).map_or(Ratio::None, |group| group.ratio);
    let parts = CapacityParts::of(place, kind, (ratio, unit));
    let sold = match kind {
        ResourceKind::Ram => Some(unit.units(sold(facts, group, ResourceType::Memory) / GIB)),
        ResourceKind::Cores => Some(sold(facts, group, ResourceType::Cores)),
        ResourceKind::Instances => None,
    };
    let resource = resource_name(group, kind);
    let quota = facts.quota_unknown.is_none().then(|| given_out(facts, &resource));
    ResourceRow {
        kind,
        resource,
        unit: if kind == ResourceKind::Ram { unit.to_string() } else { PIECE.to_owned() },
        running: parts.running,
        reserved: parts.reserved,
        free: parts.free,
        capacity: parts.total(),
        sold,
        quota: quota.map(|quota| if kind == ResourceKind::Ram { unit.units(quota) } else { quota }),
    }
}

/// What is accepted of commitments that are in force.
fn sold(facts: &ZoneFacts<'_>, group: &GroupName, resource: ResourceType) -> i64 {
    let counts = |spec: &Spec| {
        let has_ended = spec.end.is_some_and(|end| end < facts.now);
        spec.group == *group && spec.zone == *facts.zone && spec.resource == resource && !has_ended
    };
    let sold = |object: &CommittedResource| facts::accepted_spec(object).filter(|spec| is_sold(object, spec));
    let accepted = facts.commitments.iter().filter_map(|entry| sold(&entry.object));
    accepted.filter(counts).map(|spec| spec.amount.round_down().max(0)).fold(0, i64::saturating_add)
}

fn given_out(facts: &ZoneFacts<'_>, resource: &str) -> i64 {
    let of_zone = facts.quotas.iter().filter(|one| one.object.spec.availability_zone == facts.zone.as_str());
    of_zone.filter_map(|one| one.object.spec.quota.get(resource)).copied().fold(0, i64::saturating_add)
}
