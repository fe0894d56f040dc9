//! Apply: carries out the planned step of a slot. The process may end after every write; the next reconciliation finds
//! the remaining work.

mod adoption;
mod disruption;
mod misplaced;
mod verification;

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::indexes::RESERVATION_BY_HOST;
use berth_cluster::{Event, EventKind, Guard, ObjectKey, WriteError, Written};
use berth_core::{HostName, SlotKey};
use berth_crds::Reservation;
use berth_crds::conditions::reservation::{self as texts, Reason};
use berth_crds::conditions::{Status, safety};
use berth_scheduler::{CommitmentRequest, Placed, Placement, Scheduler, SchedulerError, Shortage};
use kube::Resource;
use tokio::time::Instant;
use tracing::{debug, info};

use crate::error::Error;
use crate::plan::Revocation;
use crate::read::JointRequests;
use crate::reconcile::ReservationController;
use crate::retries::{Outcome, Turn, WaitingSlot};
use crate::status::{HostChange, SlotReady, status, unavailable};
use crate::watches::commitment_of;

impl<S: Scheduler> ReservationController<S> {
    pub(crate) async fn confirm(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        pre_allocated: bool,
    ) -> Result<(), Error> {
        let Some(host) = object.spec.target_host.as_deref() else { return Ok(()) };
        let (reason, message) = if pre_allocated {
            (Reason::PreAllocated, texts::PRE_ALLOCATED)
        } else {
            (Reason::ReservationActive, texts::SCHEDULED)
        };
        let ready = SlotReady::new(Status::True, reason, message).at(HostChange::On(host.into()));
        self.reported_since.forget(key);
        self.write_ready(key, object, ready).await?;
        let left = object.status.as_ref().and_then(|status| status.host.as_deref()).filter(|left| *left != host);
        if let Some(left) = left {
            self.publish(key, object, EventKind::Normal, "SlotMoved", format!("moved from host {left} to host {host}"));
        }
        Ok(())
    }

    /// If a host is gone, all slots of the commitment on it lose it in one reconciliation, so that they are placed
    /// together.
    pub(crate) async fn revoke_all(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        why: &Revocation,
    ) -> Result<(), Error> {
        if why.is_by_verdict() {
            self.revoked.restart(key, Instant::now());
        }
        self.revoke(key, object, why, None).await?;
        let Revocation::HostGone(host, _) = why else { return Ok(()) };
        for other in self.lost_together(key, object, why) {
            self.revoke(&other.key, &other.object, why, Some(&other.key)).await?;
        }
        if self.store().select(&RESERVATION_BY_HOST, host.as_str()).is_empty() {
            self.missing.forget(host);
        }
        Ok(())
    }

    /// Clears the host on the facts that were read, then reports it. If the host is gone, its VMs are gone, too;
    /// otherwise they still run there, and the slot keeps expecting them. `other` is the slot if another one is reconciled.
    async fn revoke(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        why: &Revocation,
        other: Option<&ObjectKey>,
    ) -> Result<(), Error> {
        let mut bare = Reservation::clone(object);
        bare.spec.target_host = None;
        if let (Revocation::HostGone(..), Some(data)) = (why, &mut bare.spec.committed_resource_reservation) {
            data.allocations.clear();
        }
        match self.context.reservations.patch(key, object, &bare, Guard::Version).await? {
            Written::Changed(object) => self.unbind(key, &object, why, other).await,
            Written::Unchanged | Written::Gone => Ok(()),
        }
    }

    /// The controller that cleared the host, if it was not a user.
    pub(crate) fn known(&self, key: &ObjectKey, why: Revocation) -> Revocation {
        let eviction = self.evictions.why(key).filter(|_| why == Revocation::Cleared);
        eviction.map_or(why, |eviction| Revocation::Oversubscribed(eviction.host, eviction.excess))
    }

    pub(crate) async fn unbind(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        why: &Revocation,
        other: Option<&ObjectKey>,
    ) -> Result<(), Error> {
        let message = why.message();
        let ready = SlotReady::new(Status::False, Reason::PlacementRevoked, message.as_str()).at(HostChange::Nowhere);
        self.write_ready(key, object, ready).await?;
        self.evictions.forget(key);
        self.context.metrics.revoked.with_label_values(&[why.cause()]).inc();
        info!(other = other.map(display), reason = message, "slot lost its host");
        self.publish(key, object, EventKind::Warning, Reason::PlacementRevoked.as_str(), message);
        Ok(())
    }

    /// Tries the slot if it is its turn; otherwise reports the outcome of its last try. Returns when it is reconciled again.
    pub(crate) async fn place_in_turn(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
    ) -> Result<Option<Duration>, Error> {
        let shortage = self.context.scheduler.waiting(&SlotKey::from(key));
        match self.retries.choose_turn(waiting_slot(key, object), shortage.is_some(), Instant::now()) {
            Turn::Try(others) => self.place_slot(key, object, &others).await,
            Turn::Wait { failure, requeue_after } => {
                if let Some(ready) = failure.or_else(|| Some(self.without_host(&shortage?))) {
                    self.write_ready(key, object, self.refreshed(key, ready)).await?;
                }
                Ok(requeue_after)
            }
        }
    }

    /// Requests a host from the scheduler and writes it, or reports why there is none.
    async fn place_slot(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        others: &[ObjectKey],
    ) -> Result<Option<Duration>, Error> {
        let outcome = match self.requests(key, object, others).await {
            Ok(requests) => self.settle_on(key, object, self.ask(waiting_slot(key, object), requests).await).await,
            Err(ready) => self.wait(key, object, ready).await,
        };
        self.promised.forget(key);
        self.revoked.forget(key);
        self.evictions.forget(key);
        self.context.scheduler.applied(&[SlotKey::from(key)]);
        outcome
    }

    async fn settle_on(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        placed: Result<Placed, SchedulerError>,
    ) -> Result<Option<Duration>, Error> {
        match placed {
            Ok(Placed::Host(host)) => {
                self.target(key, object, &host).await?;
                Ok(Some(self.context.settings.delays.retry))
            }
            Ok(Placed::Unplanned) => Ok(None),
            Ok(Placed::Nowhere(shortage)) => self.wait(key, object, self.without_host(&shortage)).await,
            Err(SchedulerError::InDoubt { .. }) => Err(Error::InDoubt),
            Err(error) => self.wait(key, object, unavailable(&error)).await,
        }
    }

    /// The slot got no host: reports it and returns when it is tried again.
    async fn wait(&self, key: &ObjectKey, object: &Reservation, ready: SlotReady) -> Result<Option<Duration>, Error> {
        let is_listed = self.context.scheduler.waiting(&SlotKey::from(key)).is_some();
        let outcome = if is_listed { Outcome::Listed } else { self.failure(&ready) };
        let requeue_after = self.record(&[waiting_slot(key, object)], &outcome);
        self.write_ready(key, object, self.refreshed(key, ready)).await?;
        Ok(requeue_after)
    }

    fn failure(&self, ready: &SlotReady) -> Outcome {
        Outcome::Failed { ready: ready.clone(), due: Instant::now() + self.context.settings.delays.retry }
    }

    fn record(&self, slots: &[WaitingSlot<'_>], outcome: &Outcome) -> Option<Duration> {
        self.retries.record(slots, outcome, self.context.settings.delays.retry, Instant::now())
    }

    async fn ask(&self, own: WaitingSlot<'_>, requests: JointRequests) -> Result<Placed, SchedulerError> {
        if !requests.others.is_empty() {
            self.place_together(own, &requests).await?;
        }
        self.context.scheduler.place(&requests.own).await
    }

    /// The other slots are enqueued: those with a host request it, and the rest report the new shortage.
    async fn place_together(&self, own: WaitingSlot<'_>, requests: &JointRequests) -> Result<(), SchedulerError> {
        let mut slots: Vec<_> = requests.others.iter().map(|(_, request)| request.clone()).collect();
        slots.push(requests.own.clone());
        slots.sort_by(|a, b| a.rank.cmp(&b.rank));
        let whole = CommitmentRequest { slots, existing: true, ..CommitmentRequest::default() };
        let outcome = match self.context.scheduler.place_all(&whole).await {
            Ok(Placement::Decided { hosts, .. }) => {
                let found = whole.slots.iter().zip(&hosts).filter(|(_, host)| host.is_some());
                for (slot, _) in found.filter(|(slot, _)| slot.key != requests.own.key) {
                    self.promised.note(&ObjectKey::from(&slot.key), Instant::now());
                }
                Ok(Outcome::Listed)
            }
            Ok(Placement::Later) => {
                self.retries.remove_untried(requests.others.iter().map(|(slot, _)| &slot.key));
                return Ok(());
            }
            Err(error @ SchedulerError::InDoubt { .. }) => return Err(error),
            Err(error) => Err(error),
        };
        let others = requests.others.iter().map(|(slot, _)| waiting_slot(&slot.key, &slot.object));
        let tried: Vec<_> = [own].into_iter().chain(others).collect();
        let recorded = outcome.as_ref().cloned().unwrap_or_else(|error| self.failure(&unavailable(error)));
        self.record(&tried, &recorded);
        self.context.requests.add(tried[1..].iter().map(|slot| slot.key.clone()));
        outcome.map(drop)
    }

    pub(crate) async fn target(
        &self,
        key: &ObjectKey,
        object: &Arc<Reservation>,
        host: &HostName,
    ) -> Result<(), Error> {
        let mut placed = Reservation::clone(object);
        placed.spec.target_host = Some(host.to_string());
        debug!(%host, "placing slot");
        let written = self.context.reservations.patch(key, object, &placed, Guard::Version).await;
        if let Err(WriteError::Unknown { .. }) = &written {
            self.context.scheduler.in_doubt(&SlotKey::from(key));
        }
        Ok(written.map(drop)?)
    }

    fn without_host(&self, shortage: &Shortage) -> SlotReady {
        if self.context.hypervisors.is_empty() {
            return SlotReady::new(Status::False, Reason::NoHostsAvailable, texts::NO_HYPERVISORS);
        }
        SlotReady::new(Status::False, Reason::NoHostsFound, texts::NO_HOSTS).detailed(shortage.to_string())
    }

    /// Counts, and errors of the scheduler, are refreshed at most once per retry interval.
    fn refreshed(&self, key: &ObjectKey, ready: SlotReady) -> SlotReady {
        let refresh = self.reported_since.note(key, Instant::now()) >= self.context.settings.delays.retry;
        if refresh {
            self.reported_since.forget(key);
        }
        SlotReady { refresh, ..ready }
    }

    pub(crate) async fn write_ready(
        &self,
        key: &ObjectKey,
        object: &Reservation,
        ready: SlotReady,
    ) -> Result<(), Error> {
        self.write(key, object, Some(&ready)).await
    }

    pub(crate) async fn write(
        &self,
        key: &ObjectKey,
        old: &Reservation,
        ready: Option<&SlotReady>,
    ) -> Result<(), Error> {
        let mut new = old.clone();
        new.status = Some(status(old, ready, self.context.clock.now()));
        Ok(self.context.reservations.patch_status(key, old, &new).await.map(drop)?)
    }

    /// The object decodes again.
    pub(crate) async fn take_back_invalid(&self, key: &ObjectKey, old: &Reservation) -> Result<(), Error> {
        let mut new = old.clone();
        let conditions = &mut new.status.get_or_insert_default().conditions;
        conditions.retain(|condition| condition.type_ != safety::INVALID);
        Ok(self.context.reservations.patch_status(key, old, &new).await.map(drop)?)
    }

    pub(crate) fn publish(&self, key: &ObjectKey, object: &Reservation, kind: EventKind, reason: &str, note: String) {
        let event = Event { kind, reason: reason.to_owned(), action: "Place".to_owned(), note };
        self.context.events.publish(&key.cluster, &object.object_ref(&()), event);
    }
}

fn waiting_slot<'a>(key: &'a ObjectKey, object: &'a Reservation) -> WaitingSlot<'a> {
    WaitingSlot { commitment: commitment_of(object), key, generation: object.metadata.generation }
}
