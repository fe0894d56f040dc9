//! Apply: takes slots from an over-booked host, unless the disruption limit stops that, or logs why no slot may leave.

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use berth_cluster::{Disruption, Guard, ObjectKey, Stopped, WriteError, Written, disruption_limited_reason};
use berth_core::Resources;
use berth_core::host::Host;
use berth_crds::Reservation;
use berth_crds::conditions::safety::HOST_OVERBOOKED;
use tokio::time::Instant;
use tracing::{info, warn};

use super::evictions::{Eviction, StoppedEviction};
use super::plan::Stuck;
use super::read::ObservedHost;
use super::reconcile::{OversubscriptionController, requester};
use crate::error::Error;

impl OversubscriptionController {
    /// Checks the disruption limit with all slots that over-booked hosts of the zone would lose: if all of them shrink
    /// together, the first ones must not lose as many slots as the limit allows.
    pub(super) fn check_limit(
        &self,
        key: &ObjectKey,
        seen: &ObservedHost,
        slots: &BTreeSet<ObjectKey>,
    ) -> Result<(), Stopped> {
        let (Host { name, zone, .. }, slots) = (&seen.host, slots.iter().cloned().collect());
        let plan = Disruption { zone: zone.as_str().to_owned(), cause: HOST_OVERBOOKED, slots };
        let others = iter::once_with(|| self.zone_evictions(zone)).flat_map(|evictions| evictions.of_others(name));
        self.context.disruption_limit.ask(&requester(key), &plan, others)
    }

    /// The host was decided on. The controller of slots shows what was stopped, and is enqueued for the slots that do not
    /// show it yet or still show it.
    pub(super) fn decide(&self, seen: &ObservedHost, stopped: Option<StoppedEviction>) {
        let is_held = |slot: &ObjectKey| stopped.as_ref().is_some_and(|eviction| eviction.slots.contains(slot));
        let changed = seen.slots.iter().filter(|(key, object)| match disruption_limited_reason(object) {
            Some(reason) => reason == HOST_OVERBOOKED && !is_held(key),
            None => is_held(key),
        });
        let changed: Vec<ObjectKey> = changed.map(|(key, _)| key.clone()).collect();
        self.context.evictions.decide(&seen.host.name, stopped);
        self.context.slots.add(changed);
    }

    pub(super) async fn evict_slots(
        &self,
        key: &ObjectKey,
        seen: &ObservedHost,
        slots: BTreeSet<ObjectKey>,
        excess: Resources,
    ) -> Result<(), Error> {
        let evicted = self.evict_all(seen, slots, excess).await;
        // Shown at once; a write that has failed is tried again without waiting for the next check.
        if let Some(report) = self.report(key) {
            self.context.metrics.show(key, &seen.host.zone, self.read(report).facts.excess());
        }
        match &evicted {
            Ok(()) => self.in_order(key),
            Err(_) => drop(self.checked.forget(key)),
        }
        evicted
    }

    async fn evict_all(
        &self,
        seen: &ObservedHost,
        chosen: BTreeSet<ObjectKey>,
        excess: Resources,
    ) -> Result<(), Error> {
        let why = Eviction { host: seen.host.name.clone(), excess };
        for (key, object) in seen.slots.iter().filter(|(key, _)| chosen.contains(key)) {
            self.evict(key, object, &why, &seen.host).await?;
        }
        Ok(())
    }

    /// Takes the host away on the facts that were read, and with it the VMs that are expected: they stay where they are.
    async fn evict(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        why: &Eviction,
        host: &Host,
    ) -> Result<(), Error> {
        let mut bare = Reservation::clone(object);
        bare.spec.target_host = None;
        if let Some(data) = &mut bare.spec.committed_resource_reservation {
            data.allocations.clear();
        }
        self.context.evictions.note(key, why.clone());
        let written = self.context.reservations.patch(key, object, &bare, Guard::Version).await;
        if !matches!(written, Ok(Written::Changed(_)) | Err(WriteError::Unknown { .. })) {
            self.context.evictions.forget(key);
        }
        if let Written::Changed(_) = written? {
            self.context.metrics.evicted(&host.zone);
            info!(slot = %key, excess = %why.excess, "slot evicted from an over-booked host");
        }
        Ok(())
    }

    pub(super) fn report_stuck(&self, key: &ObjectKey, why: Stuck, excess: Resources) {
        if self.reported_since.held_for(key, Instant::now()).is_some() {
            return;
        }
        self.reported_since.restart(key, Instant::now());
        match why {
            Stuck::Disabled => warn!(%excess, "host is over-booked, and eviction is not configured"),
            Stuck::NoSlotHelps => {
                warn!(%excess, "host is over-booked and no slot may leave it that helps; move VMs away");
            }
        }
    }
}
