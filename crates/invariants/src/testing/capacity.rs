//! Whether the capacity of flavor groups fits the hosts, the VMs and the time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_crds::{FlavorGroupCapacity, FlavorGroupCapacityStatus, Hypervisor, conditions, labels, resources};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::amounts::{format_amount, offered, used};
use crate::{Invariant, Key, Snapshot, Violation};

/// Flavor group and zone.
type Place = (String, String);

/// What usage reports say of the VMs that hosts list, of all projects together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedUsage {
    pub instances: i64,
    pub cores: i64,
    /// The memory in declared units.
    pub units: i64,
}

/// What the objects with capacity are compared with.
#[derive(Clone, Debug)]
pub struct CapacityFacts {
    pub now: Timestamp,
    pub max_age: Duration,
    /// `None`: the VMs are not known, so what runs is not compared.
    pub reported: Option<BTreeMap<Place, ReportedUsage>>,
}

/// Violations by the capacities of the snapshot, ascending, while their controller runs and has caught up.
pub fn broken_capacity(snapshot: &Snapshot, facts: &CapacityFacts) -> Vec<Violation> {
    let capacities: Vec<(&Key, &FlavorGroupCapacity)> = snapshot.capacities().collect();
    let mut violations: Vec<Violation> = too_old(&capacities, facts).collect();
    violations.extend(capacities.iter().filter_map(|one| differs(one, facts)));
    let zone = |(_, object): &(&Key, &FlavorGroupCapacity)| object.spec.availability_zone.clone();
    let zones: BTreeSet<String> = capacities.iter().map(zone).collect();
    for of in zones {
        let here: Vec<_> = capacities.iter().filter(|one| zone(one) == of).copied().collect();
        violations.extend(above_hosts(snapshot, &of, &here));
    }
    violations.sort();
    violations
}

fn too_old<'a>(
    capacities: &'a [(&Key, &FlavorGroupCapacity)],
    facts: &'a CapacityFacts,
) -> impl Iterator<Item = Violation> + 'a {
    let is_ready = |object: &FlavorGroupCapacity| {
        object.status.as_ref().is_some_and(|status| conditions::is_ready(&status.conditions))
    };
    let outdated = capacities
        .iter()
        .filter(move |(_, object)| is_ready(object) && !was_written_within(object, facts.max_age, facts.now));
    outdated.map(|(key, _)| Violation::new(Invariant::CapacityTooOld, key, "is Ready and too old"))
}

/// What runs is what usage reports say.
fn differs((key, object): &(&Key, &FlavorGroupCapacity), facts: &CapacityFacts) -> Option<Violation> {
    let reported = facts.reported.as_ref()?;
    let place = (object.spec.flavor_group.clone(), object.spec.availability_zone.clone());
    let expected = reported.get(&place).copied().unwrap_or_default();
    let status = object.status.as_ref()?;
    let cores = i64::try_from(used(&status.running_resources, resources::CORES)).unwrap_or(i64::MAX);
    let running = ReportedUsage {
        instances: status.running_instances.unwrap_or(0),
        cores,
        units: status.running_units.unwrap_or(0),
    };
    let text = || format!("{running:?} runs, and usage reports have {expected:?}");
    (running != expected).then(|| Violation::new(Invariant::RunningDiffers, key, text()))
}

/// What runs, is held and is exclusively free of all groups is at most what the hosts of the zone have.
fn above_hosts(snapshot: &Snapshot, zone: &str, here: &[(&Key, &FlavorGroupCapacity)]) -> Option<Violation> {
    let (first, _) = here.first()?;
    let total = |resource: &str, of_hosts: &str| {
        let counted = here.iter().filter_map(|(_, object)| object.status.as_ref());
        let counted: i128 = counted.map(|status| parts(status, resource)).sum();
        (counted, hosts_have(snapshot, zone, of_hosts))
    };
    let pairs = [(resources::MEMORY, resources::MEMORY), (resources::CORES, resources::CPU)];
    pairs.into_iter().find_map(|(resource, of_hosts)| {
        let (counted, there) = total(resource, of_hosts);
        let [counted_text, there_text] = [counted, there].map(|amount| format_amount(amount, of_hosts));
        let text = || format!("the groups of zone {zone} have {counted_text}, and its hosts {there_text}");
        (counted > there).then(|| Violation::new(Invariant::CapacityAboveHosts, first, text()))
    })
}

fn parts(status: &FlavorGroupCapacityStatus, resource: &str) -> i128 {
    let all = [&status.running_resources, &status.reserved_resources, &status.exclusively_free_capacity];
    all.into_iter().map(|map| used(map, resource)).sum()
}

fn hosts_have(snapshot: &Snapshot, zone: &str, resource: &str) -> i128 {
    let of_host = |host: &Hypervisor| {
        let status = host.status.as_ref()?;
        let map = if status.effective_capacity.is_empty() { &status.capacity } else { &status.effective_capacity };
        offered(map, resource)
    };
    let is_here = |host: &&Arc<Hypervisor>| host.labels().get(labels::ZONE).is_some_and(|label| label == zone);
    snapshot.hosts.values().filter(is_here).filter_map(|host| of_host(host)).sum()
}

fn was_written_within(object: &FlavorGroupCapacity, max_age: Duration, now: Timestamp) -> bool {
    let written = object.status.as_ref().and_then(|status| status.last_reconcile_at.as_ref());
    written.is_some_and(|written| now <= written.0 + max_age)
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;
    use berth_crds::conditions::{Status, ready_condition};
    use berth_crds::{FlavorGroupCapacitySpec, Time, names, testing};

    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap_or_default()
    }

    /// One host with 960 GiB and 60 cores, one VM of 480 GiB, one free slot.
    fn violations(change: impl FnOnce(&mut FlavorGroupCapacityStatus)) -> Vec<Invariant> {
        let spec = FlavorGroupCapacitySpec {
            flavor_group: testing::GROUP.to_owned(),
            availability_zone: testing::ZONE.to_owned(),
        };
        let map = |memory: &str, cores: &str| {
            [("memory", memory), ("cores", cores)].map(|(name, amount)| (name.to_owned(), amount.into())).into()
        };
        let mut status = FlavorGroupCapacityStatus {
            running_instances: Some(1),
            running_units: Some(2),
            running_resources: map("480Gi", "30"),
            exclusively_free_capacity: map("480Gi", "30"),
            last_reconcile_at: Some(Time(now())),
            conditions: vec![ready_condition(Status::True, "ReconcileSucceeded", "", None, now())],
            ..FlavorGroupCapacityStatus::default()
        };
        change(&mut status);
        let name = names::flavor_group_capacity(testing::GROUP, testing::ZONE);
        let object = FlavorGroupCapacity { status: Some(status), ..FlavorGroupCapacity::new(&name, spec) };
        let home = ClusterName::home();
        let host = testing::hypervisor("node", "960Gi", "60");
        let mut snapshot = Snapshot::of([], [], [(home.clone(), Arc::new(host))]);
        snapshot.capacity(&Key::new(home, name), Some(&Arc::new(object)));
        let usage = ReportedUsage { instances: 1, cores: 30, units: 2 };
        let reported = Some([((testing::GROUP.to_owned(), testing::ZONE.to_owned()), usage)].into());
        let facts = CapacityFacts { now: now(), max_age: Duration::from_secs(900), reported };
        broken_capacity(&snapshot, &facts).into_iter().map(|violation| violation.invariant).collect()
    }

    #[test]
    fn what_runs_and_is_free_fits_the_hosts() {
        assert_eq!(violations(|_| {}), []);
        let more = |status: &mut FlavorGroupCapacityStatus| {
            status.reserved_resources = [("cores".to_owned(), "1".into())].into();
        };
        assert_eq!(violations(more), [Invariant::CapacityAboveHosts]);
    }

    #[test]
    fn what_runs_is_what_is_reported_as_used() {
        assert_eq!(violations(|status| status.running_units = Some(3)), [Invariant::RunningDiffers]);
    }

    #[test]
    fn an_old_object_is_not_ready() {
        let old = Some(Time(now() - Duration::from_secs(901)));
        assert_eq!(violations(|status| status.last_reconcile_at = old), [Invariant::CapacityTooOld]);
    }
}
