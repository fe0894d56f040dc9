//! Verification of the VMs of a slot: gathers what is known of them and carries out what was planned (document 21 section
//! 7). Every step can be the last one: the next look finds what is left to do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use berth_cluster::{
    Complete, Entry, EventKind, Guard, ObjectKey, WriteError, Written,
    indexes::{HYPERVISOR_BY_VM, RESERVATION_BY_VM},
};
use berth_core::{HostName, VmId, slot::Slot};
use berth_crds::{Hypervisor, Reservation, facts};
use berth_scheduler::{DomainNames, Pin, Scheduler, SchedulerError};

use super::{ReservationController, slot_key};
use crate::{
    Error,
    plan::{Follow, Verified, VmFact},
    status::status,
    watches::is_slot,
};

impl<S: Scheduler, D: DomainNames> ReservationController<S, D> {
    /// What is known of the VMs that the slot expects. How long one is missing counts only while the slot is in force and
    /// the hosts are known completely.
    pub(super) fn vms(
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
                let age = self.parts.clock.now().duration_since(allocation.creation_timestamp.0);
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
        let hosts = self.parts.hypervisors.select(&HYPERVISOR_BY_VM, vm);
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

    fn others_expecting(&self, key: &ObjectKey, vm: &str) -> impl Iterator<Item = Entry<Reservation>> {
        let all = self.store().select(&RESERVATION_BY_VM, vm).into_iter();
        all.filter(move |other| other.key != *key && is_slot(&other.object))
    }

    /// Carries out what a verification came to.
    pub(super) async fn verified(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        verified: Verified,
    ) -> Result<(), Error> {
        let Some(follow) = verified.follow.clone() else { return self.conclude(key, object, verified, None).await };
        let outcome = match self.room(key, object, &follow).await {
            Ok(host) => self.conclude(key, object, verified.settled(host.as_ref()), host).await,
            Err(error) => Err(error),
        };
        self.parts.scheduler.applied(&[slot_key(key)]);
        outcome
    }

    /// The host to which the slot can follow its VM: it is held by an entry of the scheduler then (section 9.4).
    async fn room(&self, key: &ObjectKey, object: &Reservation, follow: &Follow) -> Result<Option<HostName>, Error> {
        let slot = facts::slot(object);
        for host in &follow.hosts {
            let (key, zone) = (slot_key(key), slot.zone.clone());
            match self.parts.scheduler.pin(&Pin { key, host: host.clone(), size: slot.size, zone }).await {
                Ok(true) => return Ok(Some(host.clone())),
                Ok(false) => {}
                Err(SchedulerError::InDoubt { .. }) => return Err(Error::InDoubt),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// First the spec, then the other slots that expect a VM that has arrived here, then the status.
    async fn conclude(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        verified: Verified,
        moved: Option<HostName>,
    ) -> Result<(), Error> {
        let Some(object) = self.write_expected(key, object, &verified.drop, moved.as_ref()).await? else {
            return Ok(());
        };
        for vm in &verified.fresh {
            self.leave_elsewhere(key, &object, vm).await?;
        }
        let mut new = Reservation::clone(&object);
        let mut status = status(&object, None, self.parts.clock.now());
        let left = status.host.clone();
        if let Some(host) = &moved {
            status.host = Some(host.to_string());
        }
        status.committed_resource_reservation.get_or_insert_default().allocations =
            verified.confirmed.into_iter().map(|(vm, host)| (vm.to_string(), host.to_string())).collect();
        new.status = Some(status);
        self.parts.reservations.patch_status_guarded(key, &object, &new).await?;
        if let (Some(left), Some(host)) = (left, moved) {
            let note = format!("followed its VM from host {left} to host {host}");
            self.tell(key, &object, EventKind::Normal, "SlotMoved", note);
        }
        Ok(())
    }

    /// Writes what the slot expects and where. Nothing when the slot has gone.
    async fn write_expected(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        dropped: &[VmId],
        moved: Option<&HostName>,
    ) -> Result<Option<Arc<Reservation>>, Error> {
        let mut new = without(object, dropped);
        if let Some(host) = moved {
            new.spec.target_host = Some(host.to_string());
        }
        let written = self.parts.reservations.patch(key, object, &new, Guard::Version).await;
        if let (Err(WriteError::Unknown { .. }), Some(_)) = (&written, moved) {
            self.parts.scheduler.in_doubt(&slot_key(key));
        }
        Ok(match written? {
            Written::Changed(object) => Some(object),
            Written::Unchanged => Some(object.clone()),
            Written::Gone => None,
        })
    }

    /// The VM has arrived in this slot: the others do not expect it any more, in spec and status (sections 7.3 and 15 no.
    /// 22). One on another host that still lists the VM, which is migrating, would over-book that host: it gives the VM up
    /// by itself when that has left. Frozen slots are left as they are (U57).
    async fn leave_elsewhere(&self, key: &ObjectKey, object: &Reservation, vm: &VmId) -> Result<(), Error> {
        let here = object.status.as_ref().and_then(|status| status.host.as_deref());
        let hosts = self.parts.hypervisors.select(&HYPERVISOR_BY_VM, vm.as_str());
        let elsewhere = |host: &str| Some(host) != here && hosts.iter().any(|listing| &*listing.key.name == host);
        let others: Vec<_> = self.others_expecting(key, vm.as_str()).collect();
        for Entry { key, object } in others.into_iter().filter(|other| self.parts.freezer.slot(&other.object).is_none())
        {
            let slot = facts::slot(&object);
            if !slot.target_host.iter().chain(&slot.status_host).any(|host| elsewhere(host.as_str())) {
                self.leave(&key, vm).await?;
            }
        }
        Ok(())
    }

    async fn leave(&self, key: &ObjectKey, vm: &VmId) -> Result<(), Error> {
        self.settle(key).await?;
        let Some(object) = self.store().get(key) else { return Ok(()) };
        let Some(object) = self.write_expected(key, &object, std::slice::from_ref(vm), None).await? else {
            return Ok(());
        };
        let mut new = Reservation::clone(&object);
        let outcome = new.status.as_mut().and_then(|status| status.committed_resource_reservation.as_mut());
        if outcome.is_some_and(|outcome| outcome.allocations.remove(vm.as_str()).is_some()) {
            self.parts.reservations.patch_status_guarded(key, &object, &new).await?;
        }
        Ok(())
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

fn without(object: &Reservation, vms: &[VmId]) -> Reservation {
    let mut new = object.clone();
    if let Some(data) = &mut new.spec.committed_resource_reservation {
        data.allocations.retain(|vm, _| !vms.iter().any(|dropped| dropped.as_str() == vm));
    }
    new
}
