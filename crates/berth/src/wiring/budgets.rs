//! How the scheduler learns what projects may use: from ProjectQuota objects, from the commitments that pay for RAM, and from the
//! VMs that the usage is computed from.

use std::sync::Arc;

use berth_cluster::indexes::QUOTA_BY_PROJECT;
use berth_cluster::{ObjectKey, Routes, Store, Stores};
use berth_core::commitment::{ResourceType, Spec, State};
use berth_core::liquid::names::{ResourceKind, parse_resource};
use berth_core::quota::Amounts;
use berth_core::units::declared_gib;
use berth_core::{GroupName, Quantity, VmId};
use berth_crds::{CommittedResource, CommittedResourceStatus, ProjectQuota, facts, resources};
use berth_scheduler::{BudgetChange, BuiltIn, CommittedRam, CountedVms, GroupQuota, ResourceQuota, ZoneQuota};
use berth_vm_source::{VmSnapshot, VmSource};

/// The extra spec that names the flavor group.
const HW_VERSION: &str = "quota:hw_version";

/// Connects the scheduler to quotas, commitments and VMs. To be called before the stores are fed.
pub(super) fn feed_budgets(stores: &Stores, vms: &VmSource, scheduler: &Arc<BuiltIn>, routes: &Routes) {
    feed_quotas(&stores.quotas, scheduler, routes);
    let budgets = scheduler.clone();
    stores.commitments.on_state(move |change| {
        let [old, new] = [&change.old, &change.new].map(|object| object.as_deref().and_then(committed_ram));
        if old != new {
            let key = (change.key.cluster.clone(), change.key.name.clone());
            budgets.budget_changed(BudgetChange::Commitment(key, new));
        }
    });
    let budgets = scheduler.clone();
    vms.on_change(move |change| budgets.counted_vms_changed(Arc::new(CountedSnapshot(change.present.clone()))));
}

/// Of several quotas of a project in a zone the one in the cluster of the zone counts, then the first one by key.
fn feed_quotas(quotas: &Store<ProjectQuota>, scheduler: &Arc<BuiltIn>, routes: &Routes) {
    let (store, budgets, routes) = (quotas.clone(), scheduler.clone(), routes.clone());
    quotas.on_state(move |change| {
        let place = |object: &ProjectQuota| (object.spec.project_id.clone(), object.spec.availability_zone.clone());
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        if old.map(place) == new.map(place) && old.map(zone_quota) == new.map(zone_quota) {
            return;
        }
        for (project, zone) in old.into_iter().chain(new).map(place) {
            let mut of_project = store.select(&QUOTA_BY_PROJECT, &project);
            of_project.retain(|entry| entry.object.spec.availability_zone == zone);
            let counting = of_project.iter().min_by_key(|entry| rank(&routes, &entry.key, &zone));
            let quota = counting.map(|entry| zone_quota(&entry.object));
            budgets.budget_changed(BudgetChange::Quota(project.into(), zone.into(), quota));
        }
    });
}

fn rank(routes: &Routes, key: &ObjectKey, zone: &str) -> (bool, ObjectKey) {
    let is_in_its_cluster = routes.target::<ProjectQuota>(Some(zone)).is_ok_and(|cluster| cluster == key.cluster);
    (!is_in_its_cluster, key.clone())
}

fn zone_quota(object: &ProjectQuota) -> ZoneQuota {
    let used = object.status.as_ref().map(|status| &status.payg_usage);
    let (mut groups, limits) = (ZoneQuota::new(), &object.spec.quota);
    for (name, amount) in limits {
        if let Some(resource) = resource_of(&mut groups, name) {
            resource.quota = Some(*amount);
        }
    }
    for (name, amount) in used.into_iter().flatten() {
        if let Some(resource) = resource_of(&mut groups, name) {
            resource.used = *amount;
        }
    }
    groups
}

/// The resource of that name; `None` for names of other services.
fn resource_of<'q>(groups: &'q mut ZoneQuota, name: &str) -> Option<&'q mut ResourceQuota> {
    let (group, kind) = parse_resource(name)?;
    let GroupQuota { ram, cores, instances } = groups.entry(group).or_default();
    Some(match kind {
        ResourceKind::Ram => ram,
        ResourceKind::Cores => cores,
        ResourceKind::Instances => instances,
    })
}

/// Whether the commitment counts, whatever the time: no other object with its UUID is served instead.
pub(crate) fn is_sold(object: &CommittedResource, spec: &Spec) -> bool {
    matches!(spec.state, State::Confirmed | State::Guaranteed) && !facts::is_duplicate(object)
}

/// The commitment as it was accepted, else as it is wanted; `None` if it pays for no RAM, whatever the time.
fn committed_ram(object: &CommittedResource) -> Option<CommittedRam> {
    let spec = facts::accepted_spec(object).unwrap_or_else(|| facts::spec(object));
    let pays = spec.resource == ResourceType::Memory && is_sold(object, &spec);
    pays.then(|| CommittedRam {
        project: spec.project,
        zone: spec.zone,
        group: spec.group,
        amount_gib: gib_up(spec.amount),
        used_gib: object.status.as_ref().map(used_gib).unwrap_or_default(),
        start: spec.start,
        end: spec.end,
    })
}

/// Objects of former versions lack the declared number.
fn used_gib(status: &CommittedResourceStatus) -> i64 {
    let of_bytes = || {
        let used = status.used_resources.get(resources::MEMORY);
        gib_up(used.and_then(|used| Quantity::parse(used.as_str()).ok()).unwrap_or_default())
    };
    status.used_declared_gib.map_or_else(of_bytes, |gib| gib.max(0))
}

fn gib_up(bytes: Quantity) -> i64 {
    let gib = u64::try_from(bytes.round_up()).unwrap_or_default().div_ceil(1 << 30);
    i64::try_from(gib).unwrap_or(i64::MAX)
}

/// The VMs of a snapshot. A VM counts in the group that its flavor names.
#[derive(Debug)]
struct CountedSnapshot(Arc<VmSnapshot>);

impl CountedVms for CountedSnapshot {
    fn amounts(&self, vm: &VmId, group: &GroupName) -> Option<Amounts> {
        let flavor = &self.0.vm(vm)?.flavor;
        let is_of_group = flavor.extra_specs.get(HW_VERSION).is_some_and(|name| name == group.as_str());
        is_of_group.then(|| Amounts {
            ram_gib: i64::try_from(declared_gib(flavor.memory_mib)).unwrap_or(i64::MAX),
            cores: flavor.vcpus.into(),
            instances: 1,
        })
    }
}

#[cfg(test)]
mod tests;
