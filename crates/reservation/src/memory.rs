//! What the controller has only in memory about a slot, for `berth explain`.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_core::VmId;
use berth_crds::{Hypervisor, facts};
use berth_scheduler::Scheduler;
use tokio::time::Instant;

use crate::reconcile::ReservationController;
use crate::watches::is_slot;

/// What only this process knows about a slot. Times of absence count while the hosts can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotMemory {
    pub has_host: bool,
    /// Without a host: when a timer lets it be tried again. `None` if it is tried as soon as it is reconciled.
    pub next_try: Option<Instant>,
    /// For how long its host has been missing.
    pub host_missing_for: Option<Duration>,
    /// For how long each VM has been missing: confirmed before and on no host, or not yet on the host of the slot.
    pub vms_missing_for: BTreeMap<VmId, Duration>,
}

impl<S: Scheduler> ReservationController<S> {
    /// What only this process knows about a slot; `None` if there is no such slot. Changes nothing.
    pub fn memory(&self, key: &ObjectKey) -> Option<SlotMemory> {
        let object = self.store().get(key).filter(|object| is_slot(object))?;
        let (slot, hosts) = (facts::slot(&object), &self.context.hypervisors);
        let cluster = self.context.routes.target::<Hypervisor>(Some(slot.zone.as_str())).ok();
        let complete = cluster.and_then(|cluster| self.complete_hosts(&cluster, &slot, None).ok());
        let clock = complete.map(|complete| complete.synced_time());
        let missing_host = slot.target_host.as_ref().filter(|host| hosts.holders(&host.as_str().into()).is_empty());
        Some(SlotMemory {
            has_host: slot.target_host.is_some(),
            next_try: self.retries.next_try(key),
            host_missing_for: missing_host.and_then(|host| self.missing.held_for(host, clock?)),
            vms_missing_for: clock.map(|clock| self.missing_vms.held_for(key, clock)).unwrap_or_default(),
        })
    }
}
