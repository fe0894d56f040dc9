//! The capacity report, made from the published info and from the objects that the capacity controller writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::indexes::{CAPACITY_BY_PLACE, place, rank_in_place};
use berth_cluster::{Entry, FlavorGroupsCache, FlavorGroupsError, InvalidEntry, Partial, Routes, Store, host_of_vm};
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::capacity::{CapacityFacts, CapacityRequest, PlaceCapacity, build_report, groups_with_capacity};
use berth_core::liquid::info::ServiceInfo;
use berth_core::usage::declared_units;
use berth_core::{GroupName, Zone};
use berth_crds::facts::{NoAmount, is_up_to_date, lacks_running_units, place_capacity};
use berth_crds::{FlavorGroupCapacity, Hypervisor};
use berth_telemetry::clock::Clock;
use berth_vm_source::{Unavailable, Vm, VmSource};
use thiserror::Error;

/// Why no report can be made now. The texts continue those that clients know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CapacityError {
    #[error("failed to get flavor groups: {0}")]
    FlavorGroups(#[from] FlavorGroupsError),
    #[error("failed to list FlavorGroupCapacity CRDs: {0}")]
    Capacities(#[from] Partial),
    /// It says so itself, or it was not written for too long.
    #[error("one or more FlavorGroupCapacity CRDs are not ready: flavorGroup={group} az={zone}")]
    NotReady { group: GroupName, zone: Zone },
    #[error("failed to read FlavorGroupCapacity {name}: {why}")]
    Amount { name: String, why: NoAmount },
    /// An object of another writer lacks units that only the VMs tell.
    #[error("failed to get running VMs: {0}")]
    Vms(#[from] Unavailable),
    #[error("failed to encode the report: {0}")]
    Encoding(String),
}

/// The sources of the report.
#[derive(Clone)]
pub struct CapacityReports {
    pub groups: FlavorGroupsCache,
    pub capacities: Store<FlavorGroupCapacity>,
    pub hypervisors: Store<Hypervisor>,
    pub vms: VmSource,
    pub routes: Routes,
    pub clock: Arc<dyn Clock>,
    /// An object that was not written for longer is not used, whatever its condition says.
    pub max_age: Duration,
}

/// A report, and what the metrics show of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeReport {
    /// As it is sent.
    pub json: String,
    pub lines: Vec<CapacityLine>,
    /// The zones for which there is an object.
    pub known_zones: BTreeSet<Zone>,
}

/// The reported capacity of a resource in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityLine {
    pub resource: String,
    pub zone: Zone,
    pub capacity: u64,
}

type Places = BTreeMap<(GroupName, Zone), PlaceCapacity>;

impl CapacityReports {
    /// The report, if every object that it needs is up to date.
    pub fn report(&self, info: &ServiceInfo, asked: &CapacityRequest) -> Result<MadeReport, CapacityError> {
        let groups = self.groups.get()?.groups;
        self.require_complete(&asked.zones)?;
        let places = self.places(info, &groups, &asked.zones)?;
        let report = build_report(&CapacityFacts { info, groups: &groups, zones: &asked.zones, places: &places });
        let json = serde_json::to_string(&report).map_err(|error| CapacityError::Encoding(error.to_string()))?;
        let lines = report.capacities().map(|line| CapacityLine {
            resource: line.resource.to_owned(),
            zone: line.zone.into(),
            capacity: line.capacity,
        });
        let known_zones = places.keys().map(|(_, zone)| zone.clone()).collect();
        Ok(MadeReport { json: format!("{json}\n"), lines: lines.collect(), known_zones })
    }

    /// An object that is not known would turn its capacity into 0.
    fn require_complete(&self, zones: &BTreeSet<Zone>) -> Result<(), Partial> {
        let concerns =
            |entry: &InvalidEntry| zones.iter().any(|zone| entry.may_have_in_spec("availabilityZone", zone.as_str()));
        // No cluster has objects of zones that none serves.
        let target = |zone: &Zone| self.routes.target::<FlavorGroupCapacity>(Some(zone.as_str())).ok();
        for cluster in zones.iter().filter_map(target).collect::<BTreeSet<_>>() {
            self.capacities.require_complete_for(&cluster, concerns)?;
        }
        Ok(())
    }

    /// The objects of all groups and zones, in the order of their names.
    fn places(
        &self,
        info: &ServiceInfo,
        groups: &FlavorGroups,
        zones: &BTreeSet<Zone>,
    ) -> Result<Places, CapacityError> {
        let (now, mut places) = (self.clock.now(), Places::new());
        for group in groups_with_capacity(info) {
            for zone in zones {
                let Some(Entry { key, object }) = self.object(&group, zone) else { continue };
                if !is_up_to_date(&object, now, self.max_age) {
                    return Err(CapacityError::NotReady { group, zone: zone.clone() });
                }
                let found = place_capacity(&object);
                let mut found = found.map_err(|why| CapacityError::Amount { name: key.name.to_string(), why })?;
                if lacks_running_units(&object) {
                    found.running.units = self.running_units(info, groups, &group, zone)?;
                }
                places.insert((group.clone(), zone.clone()), found);
            }
        }
        Ok(places)
    }

    fn object(&self, group: &GroupName, zone: &Zone) -> Option<Entry<FlavorGroupCapacity>> {
        let found = self.capacities.select(&CAPACITY_BY_PLACE, &place(group.as_str(), zone.as_str()));
        found.into_iter().min_by(|a, b| rank_in_place(&a.key).cmp(&rank_in_place(&b.key)))
    }

    fn running_units(
        &self,
        info: &ServiceInfo,
        groups: &FlavorGroups,
        name: &GroupName,
        zone: &Zone,
    ) -> Result<u64, Unavailable> {
        let (snapshot, group_of) = (self.vms.snapshot()?, groups.by_flavor());
        let Some(group) = groups.get(name) else { return Ok(0) };
        let runs_here = |vm: &&Vm| {
            let is_of_group = group_of.get(&vm.flavor.name).is_some_and(|group| group.name == *name);
            is_of_group && self.zone_of_running(vm).is_some_and(|found| found == *zone)
        };
        let vms = snapshot.vms().iter().filter(runs_here);
        Ok(declared_units(group.ratio, info.ram_unit(name), vms.map(|vm| vm.flavor.memory_mib)))
    }

    /// The zone of the host that lists the VM, or of its row if that host has none.
    fn zone_of_running(&self, vm: &Vm) -> Option<Zone> {
        let host = host_of_vm(&self.hypervisors, vm.id.as_str())?;
        Some(if host.zone.is_empty() { vm.zone.clone() } else { host.zone })
    }
}

#[cfg(test)]
pub(crate) mod tests;
