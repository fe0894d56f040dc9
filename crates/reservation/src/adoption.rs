//! The VMs that run beside a slot and belong into it: those of its project and flavor group on its host that no slot expects.

use std::collections::BTreeMap;

use berth_cluster::indexes::{RESERVATION_BY_HOST, RESERVATION_BY_VM};
use berth_cluster::{ObjectKey, host_of_vm};
use berth_core::flavor::FlavorGroup;
use berth_core::slot::Slot;
use berth_core::{Bytes, HostName, Resources, SlotKey, VmId, slot_choice};
use berth_crds::{Hypervisor, facts};
use berth_scheduler::Scheduler;
use berth_vm_source::VmSnapshot;

use crate::reconcile::ReservationController;
use crate::watches::is_slot;

impl<S: Scheduler> ReservationController<S> {
    /// The VMs that this slot is to expect, each with its size. None as long as something cannot be read completely: a VM
    /// may belong to a slot that is not known. `hosts_are_complete` says that all hosts of its zone are known.
    pub(crate) fn adoptable_vms(
        &self,
        key: &ObjectKey,
        slot: &Slot,
        hosts_are_complete: bool,
    ) -> BTreeMap<VmId, Resources> {
        let is_open = self.context.settings.adopts_vms && hosts_are_complete && slot.is_in_force() && !slot.terminating;
        let Some(host) = slot.status_host.as_ref().filter(|_| is_open) else { return BTreeMap::new() };
        let Ok(snapshot) = self.context.vms.snapshot() else { return BTreeMap::new() };
        let Ok(groups) = self.context.flavor_groups.get() else { return BTreeMap::new() };
        let Some(group) = groups.groups.get(&slot.group) else { return BTreeMap::new() };
        if self.store().require_complete(&key.cluster).is_err() {
            return BTreeMap::new();
        }
        let mut vms = self.vms_beside(host, slot, group, &snapshot);
        if !vms.is_empty() {
            let (assigned, own) = (slot_choice::assign(&vms, self.unused(host, slot)), SlotKey::from(key));
            vms.retain(|vm, _| assigned.get(vm) == Some(&own));
        }
        vms
    }

    fn vms_beside(
        &self,
        host: &HostName,
        slot: &Slot,
        group: &FlavorGroup,
        snapshot: &VmSnapshot,
    ) -> BTreeMap<VmId, Resources> {
        let stored = &self.context.hypervisors;
        let hosts = stored.clusters().into_iter();
        let hosts = hosts.filter_map(|cluster| stored.get(&ObjectKey::new(cluster, host.as_str())));
        let beside = |id: &str| {
            let vm = snapshot.vm(&id.into()).filter(|vm| vm.project == slot.project)?;
            let flavor = group.flavor(&vm.flavor.name)?;
            let runs_here = host_of_vm(stored, id).is_some_and(|found| found.is_active && found.host == *host);
            let is_free = || self.store().select(&RESERVATION_BY_VM, id).is_empty();
            (runs_here && is_free()).then(|| (vm.id.clone(), flavor.size()))
        };
        hosts.flat_map(|host| active(&host)).filter_map(|id| beside(&id)).collect()
    }

    /// The memory that no VM is expected in, of all slots that the VMs may go into. Paused ones are not changed.
    fn unused(&self, host: &HostName, like: &Slot) -> BTreeMap<SlotKey, Bytes> {
        let on_host = self.store().select(&RESERVATION_BY_HOST, host.as_str()).into_iter();
        let slots = on_host.filter(|entry| is_slot(&entry.object) && self.context.pauses.slot(&entry.object).is_none());
        let slots = slots.map(|entry| (SlotKey::from(&entry.key), facts::slot(&entry.object)));
        let slots = slots.filter(|(_, slot)| {
            let is_alike = (&slot.project, &slot.group) == (&like.project, &like.group);
            is_alike && slot.is_in_force() && slot.status_host.as_ref() == Some(host) && !slot.terminating
        });
        slots.map(|(key, slot)| (key, slot.size.memory - slot.used())).collect()
    }
}

fn active(host: &Hypervisor) -> Vec<String> {
    let instances = host.status.iter().flat_map(|status| &status.instances);
    instances.filter(|vm| vm.active).map(|vm| vm.id.clone()).collect()
}
