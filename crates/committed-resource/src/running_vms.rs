//! The VMs that a commitment which grows may take over: those that its project runs in the zone and that belong to no slot.

use std::collections::BTreeMap;

use berth_cluster::indexes::RESERVATION_BY_VM;
use berth_cluster::{Partial, host_of_vm};
use berth_core::commitment::{ResourceType, Spec};
use berth_core::flavor::{FlavorGroup, FlavorGroups};
use berth_core::planner::RunningVm;
use berth_core::slot::Slot;
use berth_core::{Bytes, ClusterName};
use berth_scheduler::Scheduler;
use berth_vm_source::{Unavailable, Vm, VmSnapshot, VmSource};
use thiserror::Error;
use tracing::debug;

use crate::facts::{Holding, Site};
use crate::read::Reader;

/// Why it is not known which VMs there are. Then none is taken over.
#[derive(Debug, Error)]
enum Unknown {
    #[error(transparent)]
    Vms(#[from] Unavailable),
    #[error(transparent)]
    Objects(#[from] Partial),
}

impl<S: Scheduler> Reader<'_, S> {
    /// None for a commitment that has its slots, and none as long as something cannot be read completely: a VM may belong
    /// to a slot that is not known.
    pub(crate) fn running_vms(
        &self,
        spec: &Spec,
        site: Option<&Site>,
        holdings: &BTreeMap<ClusterName, Holding>,
        groups: Option<&FlavorGroups>,
    ) -> Vec<RunningVm> {
        let group = groups.and_then(|groups| groups.get(&spec.group));
        let (Some(source), Some(site), Some(group)) = (self.vms, site, group) else { return Vec::new() };
        let slots = holdings.get(&site.cluster).map(|holding| &holding.slots[..]).unwrap_or_default();
        if spec.zone.is_empty() || !lacks_slots(spec, slots) {
            return Vec::new();
        }
        self.scan(source, spec, site, group).unwrap_or_else(|error| {
            debug!(%error, "no VMs taken over");
            Vec::new()
        })
    }

    fn scan(
        &self,
        source: &VmSource,
        spec: &Spec,
        site: &Site,
        group: &FlavorGroup,
    ) -> Result<Vec<RunningVm>, Unknown> {
        let snapshot = source.snapshot()?;
        site.hosts_unknown.clone().map_or(Ok(()), Err)?;
        self.reservations.require_complete(&site.cluster)?;
        Ok(self.candidates(&snapshot, spec, group))
    }

    fn candidates(&self, snapshot: &VmSnapshot, spec: &Spec, group: &FlavorGroup) -> Vec<RunningVm> {
        let candidate = |vm: &Vm| {
            group.flavor(&vm.flavor.name)?;
            let running = host_of_vm(self.hypervisors, vm.id.as_str())?;
            let is_free = || self.reservations.select(&RESERVATION_BY_VM, vm.id.as_str()).is_empty();
            let is_candidate = running.is_active && running.zone == spec.zone && is_free();
            is_candidate.then(|| RunningVm { id: vm.id.clone(), host: running.host, flavor: vm.flavor.name.clone() })
        };
        snapshot.of_project(&spec.project).iter().filter_map(candidate).collect()
    }
}

fn lacks_slots(spec: &Spec, slots: &[Slot]) -> bool {
    let is_own = |slot: &&Slot| {
        (&slot.project, &slot.group, &slot.zone) == (&spec.project, &spec.group, &spec.zone) && !slot.terminating
    };
    let held: Bytes = slots.iter().filter(is_own).map(|slot| slot.size.memory).sum();
    spec.resource == ResourceType::Memory && held < spec.memory()
}
