//! What a project uses of its quota: of all its VMs, and of those that no commitment pays for.

mod summary;

use std::collections::BTreeMap;

use crate::commitment::{ResourceType, State};
use crate::flavor::FlavorGroups;
use crate::ids::{GroupName, Zone};
use crate::liquid::names::{ResourceKind, resource_name};
use crate::liquid::units::RamUnit;
use crate::units::declared_gib;
use crate::usage::{ProjectVm, declared_units};

pub use summary::{limes_quota_summary, limes_usage_summary, summary};

/// Values by the names of resources, as objects have them; RAM in GiB.
pub type ByResource = BTreeMap<String, i64>;

/// What VMs use in a commitment, from its status and what was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedUsage {
    pub zone: Zone,
    pub group: GroupName,
    pub resource: ResourceType,
    pub state: State,
    /// The memory of its VMs in whole GiB as it is declared, added up per VM.
    pub declared_gib: u64,
}

/// The usage of one flavor group in one zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUsage {
    pub total: Amounts,
    /// The part of the RAM that commitments pay for, which may be more than all of it.
    pub committed_gib: i64,
    /// All RAM as Limes counts it.
    pub declared_ram: i64,
}

/// What VMs use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    pub ram_gib: i64,
    pub cores: i64,
    pub instances: i64,
}

/// The usage of one zone. Only groups with VMs are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneUsage(BTreeMap<GroupName, GroupUsage>);

/// The usage of a project. Only zones with VMs are in it; those whose zone is not known have an empty one.
pub type ProjectUsage = BTreeMap<Zone, ZoneUsage>;

/// What the usage is made from.
#[derive(Clone, Copy, Debug)]
pub struct QuotaFacts<'a> {
    pub vms: &'a [ProjectVm],
    pub commitments: &'a [CommittedUsage],
    /// The states of commitments that pay for VMs.
    pub states: &'a [State],
    pub groups: &'a FlavorGroups,
}

/// The usage from scratch. VMs without a flavor group do not count. `unit_of` is the unit in which Limes counts RAM.
pub fn usage(facts: &QuotaFacts<'_>, unit_of: impl Fn(&GroupName) -> RamUnit) -> ProjectUsage {
    let mut places: BTreeMap<(&Zone, &GroupName), (GroupUsage, Vec<u64>)> = BTreeMap::new();
    for vm in facts.vms {
        let Some(group) = &vm.group else { continue };
        let (usage, vms_mib) = places.entry((&vm.zone, group)).or_default();
        usage.total.add(vm);
        vms_mib.push(vm.memory_mib);
    }
    for one in facts.commitments.iter().filter(|one| pays(one, facts.states)) {
        if let Some((usage, _)) = places.get_mut(&(&one.zone, &one.group)) {
            usage.committed_gib = usage.committed_gib.saturating_add(as_signed(one.declared_gib));
        }
    }
    let mut project = ProjectUsage::new();
    for ((zone, name), (mut usage, vms_mib)) in places {
        let units = facts.groups.get(name).map(|group| declared_units(group.ratio, unit_of(name), vms_mib));
        usage.declared_ram = as_signed(units.unwrap_or_default());
        project.entry(zone.clone()).or_default().0.insert(name.clone(), usage);
    }
    project
}

/// Commitments of cores show usage, and pay for nothing.
fn pays(commitment: &CommittedUsage, states: &[State]) -> bool {
    commitment.resource == ResourceType::Memory && states.contains(&commitment.state)
}

fn as_signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

impl Amounts {
    fn add(&mut self, vm: &ProjectVm) {
        self.ram_gib = self.ram_gib.saturating_add(as_signed(declared_gib(vm.memory_mib)));
        self.cores = self.cores.saturating_add(vm.vcpus.into());
        self.instances = self.instances.saturating_add(1);
    }

    fn named(self, group: &GroupName) -> [(String, i64); 3] {
        [
            (ResourceKind::Cores, self.cores),
            (ResourceKind::Instances, self.instances),
            (ResourceKind::Ram, self.ram_gib),
        ]
        .map(|(kind, amount)| (resource_name(group, kind), amount))
    }
}

impl GroupUsage {
    /// What no commitment pays for: they pay for RAM only.
    pub fn payg(self) -> Amounts {
        Amounts { ram_gib: self.total.ram_gib.saturating_sub(self.committed_gib).max(0), ..self.total }
    }

    /// What commitments pay for.
    pub fn committed(self) -> Amounts {
        Amounts { ram_gib: self.committed_gib, cores: 0, instances: 0 }
    }
}

impl ZoneUsage {
    pub fn groups(&self) -> impl Iterator<Item = (&GroupName, GroupUsage)> {
        self.0.iter().map(|(group, usage)| (group, *usage))
    }

    /// The usage of all VMs, and 0 for what has a quota and is not used.
    pub fn total(&self, quota: &ByResource) -> ByResource {
        self.filled(quota, |usage| usage.total)
    }

    /// The part that no commitment pays for, with the same names.
    pub fn payg(&self, quota: &ByResource) -> ByResource {
        self.filled(quota, GroupUsage::payg)
    }

    /// The part that commitments pay for, of everything that is used.
    pub fn committed(&self) -> ByResource {
        self.filled(&ByResource::new(), GroupUsage::committed)
    }

    fn filled(&self, quota: &ByResource, amounts: impl Fn(GroupUsage) -> Amounts) -> ByResource {
        let unused = quota.keys().map(|name| (name.clone(), 0));
        let used = self.0.iter().flat_map(|(group, usage)| amounts(*usage).named(group));
        unused.chain(used).collect()
    }
}

#[cfg(test)]
mod tests;
