//! Apply: takes slots from an over-booked host, unless the brake holds them there, or tells people why nothing is done.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::{Disruption, Guard, ObjectKey, WriteError, Written};
use berth_core::Resources;
use berth_core::host::Host;
use berth_crds::Reservation;
use berth_crds::conditions::safety::HOST_OVERBOOKED;
use tokio::time::Instant;
use tracing::{info, warn};

use super::evictions::Eviction;
use super::plan::Stuck;
use super::read::Seen;
use super::reconcile::{OversubscriptionController, asker};
use crate::error::Error;

impl OversubscriptionController {
    /// The brake says itself when it stops something; the host is asked about again at its next check.
    pub(super) fn may_leave(&self, key: &ObjectKey, seen: &Seen, slots: &BTreeSet<ObjectKey>) -> bool {
        let slots = slots.iter().cloned().collect();
        let plan = Disruption { zone: seen.host.zone.as_str().to_owned(), cause: HOST_OVERBOOKED, slots };
        self.context.brake.ask(&asker(key), &plan, []).is_ok()
    }

    pub(super) async fn relieve(
        &self,
        key: &ObjectKey,
        seen: &Seen,
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

    async fn evict_all(&self, seen: &Seen, chosen: BTreeSet<ObjectKey>, excess: Resources) -> Result<(), Error> {
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
            info!(slot = %key.name, host = %why.host, excess = %why.excess, "slot evicted from an over-booked host");
        }
        Ok(())
    }

    pub(super) fn tell(&self, key: &ObjectKey, why: Stuck, excess: Resources) {
        if self.told.held_for(key, Instant::now()).is_some() {
            return;
        }
        self.told.restart(key, Instant::now());
        let host = &*key.name;
        match why {
            Stuck::Disabled => warn!(host, %excess, "host is over-booked, and eviction is not configured"),
            Stuck::NoSlotHelps => {
                warn!(host, %excess, "host is over-booked and no slot may leave it that helps; move VMs away");
            }
        }
    }
}
