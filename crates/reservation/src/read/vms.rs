//! What is known of the VMs that a slot expects (document 21 section 7).

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use berth_cluster::{
    Complete, Entry, ObjectKey,
    indexes::{HYPERVISOR_BY_VM, RESERVATION_BY_VM},
};
use berth_core::{HostName, VmId, slot::Slot};
use berth_crds::{Hypervisor, Reservation, facts};
use berth_scheduler::Scheduler;

use crate::{facts::VmFact, reconcile::ReservationController, watches::is_slot};

impl<S: Scheduler> ReservationController<S> {
    /// What is known of the VMs that the slot expects. How long one is missing counts only while the slot is in force and
    /// the hosts are known completely.
    pub(crate) fn vms(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        slot: &Slot,
        hosts: Option<&Complete<'_, Hypervisor>>,
    ) -> BTreeMap<VmId, VmFact> {
        let data = object.spec.committed_resource_reservation.iter();
        let expected = data.flat_map(|data| &data.allocations);
        let mut vms: BTreeMap<VmId, VmFact> = expected
            .map(|(vm, allocation)| {
                let age = self.context.clock.now().duration_since(allocation.creation_timestamp.0);
                let fact = VmFact { age: age.try_into().unwrap_or_default(), ..self.sighted(key, slot, vm) };
                (vm.as_str().into(), fact)
            })
            .collect();
        if !slot.is_in_force() {
            self.departures.forget(key);
        } else if let Some(hosts) = hosts {
            let missing = missing(&vms, slot, &confirmed(object));
            for (vm, time) in self.departures.missing(key, &missing, hosts.followed_time()) {
                vms.entry(vm).or_default().absent = time;
            }
        }
        vms
    }

    /// Where the VM is, and in which of these places it counts in another slot.
    fn sighted(&self, key: &ObjectKey, slot: &Slot, vm: &str) -> VmFact {
        let hosts = self.context.hypervisors.select(&HYPERVISOR_BY_VM, vm);
        let hosts: BTreeSet<HostName> = hosts.iter().map(|host| (&*host.key.name).into()).collect();
        let others: Vec<(ObjectKey, Slot)> =
            self.others_expecting(key, vm).map(|other| (other.key, facts::slot(&other.object))).collect();
        let counts_elsewhere = |host: &&HostName| {
            others.iter().any(|(other_key, other)| {
                let there = other.target_host.as_ref() == Some(*host);
                let before = slot.status_host.as_ref() != Some(*host) || (other.is_in_force() && other_key < key);
                there && before
            })
        };
        let taken = hosts.iter().filter(counts_elsewhere).cloned().collect();
        VmFact { age: Duration::ZERO, hosts, taken, absent: Duration::ZERO }
    }

    pub(crate) fn others_expecting(&self, key: &ObjectKey, vm: &str) -> impl Iterator<Item = Entry<Reservation>> {
        let all = self.store().select(&RESERVATION_BY_VM, vm).into_iter();
        all.filter(move |other| other.key != *key && is_slot(&other.object))
    }
}

/// The VMs that the status names, each with its host.
pub(super) fn confirmed(object: &Reservation) -> BTreeMap<VmId, HostName> {
    let outcome = object.status.as_ref().and_then(|status| status.committed_resource_reservation.as_ref());
    let vms = outcome.into_iter().flat_map(|outcome| &outcome.allocations);
    vms.map(|(vm, host)| (vm.as_str().into(), host.as_str().into())).collect()
}

/// The VMs whose absence counts: confirmed before and on no host, or not yet on the host of the slot.
fn missing(vms: &BTreeMap<VmId, VmFact>, slot: &Slot, confirmed: &BTreeMap<VmId, HostName>) -> BTreeSet<VmId> {
    let here = |fact: &VmFact| slot.status_host.as_ref().is_some_and(|host| fact.hosts.contains(host));
    let missing = vms.iter().filter(|(vm, fact)| fact.hosts.is_empty() || !confirmed.contains_key(*vm) && !here(fact));
    missing.map(|(vm, _)| vm.clone()).collect()
}
