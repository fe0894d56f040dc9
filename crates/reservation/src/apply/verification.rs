//! Carries out what the verification of the VMs of a slot came to.

use std::sync::Arc;

use berth_cluster::indexes::HYPERVISOR_BY_VM;
use berth_cluster::{Entry, EventKind, Guard, ObjectKey, WriteError, Written};
use berth_core::{HostName, SlotKey, VmId};
use berth_crds::{Reservation, facts};
use berth_scheduler::{Pin, Scheduler, SchedulerError};

use crate::Error;
use crate::plan::{FollowedVm, VerificationPlan};
use crate::reconcile::ReservationController;
use crate::status::status;

impl<S: Scheduler> ReservationController<S> {
    pub(crate) async fn verified(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        verified: VerificationPlan,
    ) -> Result<(), Error> {
        let Some(follow) = verified.follow.clone() else { return self.conclude(key, object, verified, None).await };
        let outcome = match self.find_capacity(key, object, &follow).await {
            Ok(host) => self.conclude(key, object, verified.settled(host.as_ref()), host).await,
            Err(error) => Err(error),
        };
        self.context.scheduler.applied(&[SlotKey::from(key)]);
        outcome
    }

    /// The host to which the slot can follow its VM: it is held by an entry of the scheduler then.
    async fn find_capacity(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        follow: &FollowedVm,
    ) -> Result<Option<HostName>, Error> {
        let slot = facts::slot(object);
        for host in &follow.hosts {
            let (key, zone) = (SlotKey::from(key), slot.zone.clone());
            match self
                .context
                .scheduler
                .pin(&Pin { key, host: host.clone(), size: slot.size, vms: [].into(), zone })
                .await
            {
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
        verified: VerificationPlan,
        moved: Option<HostName>,
    ) -> Result<(), Error> {
        let Some(object) = self.write_expected(key, object, &verified.drop, moved.as_ref()).await? else {
            return Ok(());
        };
        for vm in &verified.fresh {
            self.remove_from_other_slots(key, &object, vm).await?;
        }
        let mut new = Reservation::clone(&object);
        let mut status = status(&object, None, self.context.clock.now());
        let left = status.host.clone();
        if let Some(host) = &moved {
            status.host = Some(host.to_string());
        }
        status.committed_resource_reservation.get_or_insert_default().allocations =
            verified.confirmed.into_iter().map(|(vm, host)| (vm.to_string(), host.to_string())).collect();
        new.status = Some(status);
        self.context.reservations.patch_status_of_version(key, &object, &new).await?;
        if let (Some(left), Some(host)) = (left, moved) {
            let note = format!("followed its VM from host {left} to host {host}");
            self.publish(key, &object, EventKind::Normal, "SlotMoved", note);
        }
        Ok(())
    }

    /// Writes the expected VMs of the slot and their hosts. Nothing if the slot is gone.
    async fn write_expected(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        dropped: &[VmId],
        moved: Option<&HostName>,
    ) -> Result<Option<Arc<Reservation>>, Error> {
        let mut new = remove_vms(object, dropped);
        if let Some(host) = moved {
            new.spec.target_host = Some(host.to_string());
        }
        let written = self.context.reservations.patch(key, object, &new, Guard::Version).await;
        if let (Err(WriteError::Unknown { .. }), Some(_)) = (&written, moved) {
            self.context.scheduler.in_doubt(&SlotKey::from(key));
        }
        Ok(match written? {
            Written::Changed(object) => Some(object),
            Written::Unchanged => Some(object.clone()),
            Written::Gone => None,
        })
    }

    /// The VM has arrived in this slot: the others do not expect it any more, in spec and status. If another slot's
    /// host still lists the VM, which is migrating, removing it would over-book that host: that slot gives the VM up by
    /// itself when the VM has left. Paused slots are not changed.
    async fn remove_from_other_slots(&self, key: &ObjectKey, object: &Reservation, vm: &VmId) -> Result<(), Error> {
        let here = object.status.as_ref().and_then(|status| status.host.as_deref());
        let hosts = self.context.hypervisors.select(&HYPERVISOR_BY_VM, vm.as_str());
        let elsewhere = |host: &str| Some(host) != here && hosts.iter().any(|listing| &*listing.key.name == host);
        let others: Vec<_> = self.others_expecting(key, vm.as_str()).collect();
        for Entry { key, object } in
            others.into_iter().filter(|other| self.context.pauses.slot(&other.object).is_none())
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
            self.context.reservations.patch_status_of_version(key, &object, &new).await?;
        }
        Ok(())
    }
}

fn remove_vms(object: &Reservation, vms: &[VmId]) -> Reservation {
    let mut new = object.clone();
    if let Some(data) = &mut new.spec.committed_resource_reservation {
        data.allocations.retain(|vm, _| !vms.iter().any(|dropped| dropped.as_str() == vm));
    }
    new
}
