//! Adds VMs that run beside a slot to those that it expects.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::{Guard, ObjectKey, WriteError};
use berth_core::{Resources, SlotKey, VmId};
use berth_crds::{Allocation, Reservation, Time, facts};
use berth_scheduler::{Pin, Scheduler, SchedulerError};
use tracing::info;

use crate::Error;
use crate::reconcile::ReservationController;

impl<S: Scheduler> ReservationController<S> {
    /// The next reconciliation confirms them.
    pub(crate) async fn adopt(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        vms: &BTreeMap<VmId, Resources>,
    ) -> Result<(), Error> {
        let outcome = match self.pin_vms(key, object, vms).await {
            Ok(pinned) => self.expect_vms(key, object, &pinned).await,
            Err(error) => Err(error),
        };
        self.context.scheduler.applied(&[SlotKey::from(key)]);
        outcome
    }

    /// Those of the VMs that no other slot is about to expect: an entry of the scheduler holds them for this slot then.
    async fn pin_vms(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        vms: &BTreeMap<VmId, Resources>,
    ) -> Result<BTreeMap<VmId, Resources>, Error> {
        let slot = facts::slot(object);
        let Some(host) = slot.target_host else { return Ok(BTreeMap::new()) };
        let mut pinned = BTreeMap::new();
        for (vm, size) in vms {
            let mut with_vm = pinned.clone();
            with_vm.insert(vm.clone(), *size);
            let (key, host, zone) = (SlotKey::from(key), host.clone(), slot.zone.clone());
            let pin = Pin { key, host, size: slot.size, vms: with_vm, zone };
            match self.context.scheduler.pin(&pin).await {
                Ok(true) => pinned = pin.vms,
                Ok(false) => {}
                Err(SchedulerError::InDoubt { .. }) => return Err(Error::InDoubt),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(pinned)
    }

    async fn expect_vms(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        vms: &BTreeMap<VmId, Resources>,
    ) -> Result<(), Error> {
        if vms.is_empty() {
            return Ok(());
        }
        let mut new = Reservation::clone(object);
        let now = self.context.clock.now();
        let allocation = |size| Allocation { creation_timestamp: Time(now), resources: facts::resource_map(size) };
        let data = new.spec.committed_resource_reservation.get_or_insert_default();
        data.allocations.extend(vms.iter().map(|(vm, size)| (vm.to_string(), allocation(*size))));
        let group = data.resource_group.clone().unwrap_or_default();
        let written = self.context.reservations.patch(key, object, &new, Guard::Version).await;
        if let Err(WriteError::Unknown { .. }) = &written {
            self.context.scheduler.in_doubt(&SlotKey::from(key));
        }
        written?;
        self.context.metrics.adopted.with_label_values(&[&group]).inc_by(vms.len() as u64);
        info!(vms = vms.len(), "VMs that ran beside the slot are expected in it");
        Ok(())
    }
}
