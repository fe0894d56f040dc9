//! Read: the zones whose hosts, slots and commitments are known, with what capacity is computed from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_cluster::{CompletenessProof, FlavorGroupsCache, InvalidEntry, Partial, Routes, Store};
use berth_core::capacity::{KnownVm, OccupiedByPlace, reserved, running};
use berth_core::flavor::{FlavorGroup, FlavorGroups};
use berth_core::host::Host;
use berth_core::liquid::units::{RamUnit, UnitOf};
use berth_core::{ClusterName, Zone};
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor, Reservation, facts};
use berth_scheduler::HostCapacity;
use berth_vm_source::{Unavailable, VmSource};

use crate::error::Error;
use crate::plan::{AcceptedByPlace, StoredCapacity};

/// The sources of facts.
pub(crate) struct Reader<'a> {
    pub(crate) capacities: &'a Store<FlavorGroupCapacity>,
    pub(crate) hypervisors: &'a Store<Hypervisor>,
    pub(crate) reservations: &'a Store<Reservation>,
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) flavor_groups: &'a FlavorGroupsCache,
    pub(crate) vms: &'a VmSource,
    pub(crate) routes: &'a Routes,
    pub(crate) unit_of: &'a UnitOf,
}

/// The zones there are.
#[derive(Debug, Default)]
pub(crate) struct KnownZones<'h> {
    /// With their hosts, in the order of the names.
    pub(crate) readable: BTreeMap<Zone, Vec<&'h HostCapacity>>,
    /// Why the others cannot be read.
    pub(crate) unreadable: BTreeMap<Zone, Partial>,
    /// Whether there can be no other zones.
    pub(crate) is_complete: bool,
}

impl Reader<'_> {
    pub(crate) fn groups(&self) -> Result<Arc<FlavorGroups>, Error> {
        Ok(self.flavor_groups.get()?.groups)
    }

    pub(crate) fn zones<'h>(&self, hosts: &'h [HostCapacity]) -> KnownZones<'h> {
        let mut by_zone: BTreeMap<Zone, Vec<&HostCapacity>> = BTreeMap::new();
        for host in hosts.iter().filter(|host| !host.host.zone.is_empty()) {
            by_zone.entry(host.host.zone.clone()).or_default().push(host);
        }
        let mut zones = KnownZones::default();
        for (zone, hosts) in by_zone {
            let clusters = hosts.iter().map(|host| host.host.cluster.clone()).collect();
            match self.require_readable(&zone, &clusters) {
                Ok(()) => drop(zones.readable.insert(zone, hosts)),
                Err(partial) => drop(zones.unreadable.insert(zone, partial)),
            }
        }
        zones.is_complete = zones.unreadable.is_empty() && self.prove_complete().is_ok();
        zones
    }

    /// A slot that is not known would seem to be free capacity, and a commitment that is not known to be none. A host that
    /// does not decode counts as it was.
    fn require_readable(&self, zone: &Zone, clusters: &BTreeSet<ClusterName>) -> Result<(), Partial> {
        let concerns = |invalid: &InvalidEntry| invalid.may_have_in_spec("availabilityZone", zone.as_str());
        for cluster in clusters {
            self.hypervisors.require_synced(cluster)?;
            if self.routes.serves::<Reservation>(cluster) {
                self.reservations.require_complete_for(cluster, concerns)?;
            }
        }
        if let Ok(cluster) = self.routes.target::<CommittedResource>(Some(zone.as_str())) {
            self.commitments.require_complete_for(&cluster, concerns)?;
        }
        Ok(())
    }

    /// No host and no object is missing in any cluster, so objects of other zones may be deleted.
    pub(crate) fn prove_complete(&self) -> Result<Vec<CompletenessProof<FlavorGroupCapacity>>, Error> {
        for cluster in self.routes.clusters::<Hypervisor>()? {
            self.hypervisors.require_complete(&cluster)?;
        }
        let clusters = self.routes.clusters::<FlavorGroupCapacity>()?;
        let proofs = clusters.iter().map(|cluster| Ok(self.capacities.require_complete(cluster)?.proof()));
        proofs.collect()
    }

    pub(crate) fn stored(&self) -> Vec<StoredCapacity> {
        self.capacities.all().into_iter().map(|entry| StoredCapacity { key: entry.key, object: entry.object }).collect()
    }

    /// What runs, from the VMs that hosts list.
    pub(crate) fn running(
        &self,
        hosts: &[HostCapacity],
        groups: &FlavorGroups,
    ) -> Result<OccupiedByPlace, Unavailable> {
        let snapshot = self.vms.snapshot()?;
        let known = |id: &_| snapshot.vm(id).map(|vm| KnownVm { flavor: &vm.flavor, zone: &vm.zone });
        Ok(running(hosts.iter().map(|host| &*host.host), known, groups, |group| self.unit(group)))
    }

    pub(crate) fn reserved(&self, hosts: &[HostCapacity], groups: &FlavorGroups) -> OccupiedByPlace {
        let slots = hosts.iter().map(|host| (&*host.host as &Host, &*host.slots));
        reserved(slots, groups, |group| self.unit(group))
    }

    pub(crate) fn accepted(&self) -> AcceptedByPlace {
        let mut accepted = AcceptedByPlace::new();
        for entry in self.commitments.all().into_iter().filter(|entry| !facts::is_duplicate(&entry.object)) {
            if let Some(spec) = facts::accepted_spec(&entry.object) {
                accepted.entry((spec.group.clone(), spec.zone.clone())).or_default().push(spec);
            }
        }
        accepted
    }

    fn unit(&self, group: &FlavorGroup) -> RamUnit {
        (self.unit_of)(&group.name)
    }
}

#[cfg(test)]
mod tests;
