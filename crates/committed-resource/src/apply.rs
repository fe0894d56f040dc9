//! Applies a decided plan. Every step is idempotent and safe to stop after: the finalizer comes before the first slot,
//! releases come before creates, and the finalizer goes last.

use std::sync::Arc;

use berth_cluster::indexes::RESERVATION_BY_COMMITMENT;
use berth_cluster::{CompletenessProof, Guard, ObjectKey, Pauses, WriteError, Writer, Written};
use berth_core::{CommitmentUuid, HostName, SlotKey, SlotName, planner};
use berth_crds::{CommittedResource, Reservation, labels};
use berth_scheduler::Scheduler;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use jiff::Timestamp;

use crate::error::Error;
use crate::facts::CommitmentFacts;
use crate::metrics::CommitmentMetrics;
use crate::object::{self, Origin};
use crate::plan::{CommitmentDecision, CommitmentPlan, Finalizer, ReleasedSlot};
use crate::read::is_slot;

/// Writes of one plan that are under way at once.
const CONCURRENT_WRITES: usize = 16;

/// The dependencies of writes.
pub(crate) struct Apply<'a, S> {
    pub(crate) key: &'a ObjectKey,
    pub(crate) commitments: &'a Writer<CommittedResource>,
    pub(crate) reservations: &'a Writer<Reservation>,
    pub(crate) scheduler: &'a S,
    pub(crate) pauses: &'a Pauses,
    pub(crate) commitment: &'a CommittedResource,
    pub(crate) metrics: &'a CommitmentMetrics,
    pub(crate) now: Timestamp,
    pub(crate) origin: Origin,
}

impl<S: Scheduler> Apply<'_, S> {
    /// Runs the plan. After an error the rest is not done; the next reconciliation plans from the new state.
    pub(crate) async fn run(
        &self,
        object: &Arc<CommittedResource>,
        facts: &CommitmentFacts,
        decided: &CommitmentDecision,
    ) -> Result<(), Error> {
        if decided.plan.finalizer == Finalizer::Add {
            self.protect(object).await?;
        }
        let slots = &decided.plan.slots;
        if let Some(proof) = &decided.plan.proof {
            run_all(slots.release.iter().map(|release| self.release(release, proof).boxed()).collect()).await?;
        }
        run_all(decided.used.iter().map(|slot| self.release_for_change(slot, decided).boxed()).collect()).await?;
        run_all(decided.plan.leave.iter().map(|leave| self.leave(leave).boxed()).collect()).await?;
        run_all(slots.update.iter().map(|update| self.update(decided, update).boxed()).collect()).await?;
        run_all(slots.take_over.iter().map(|slot| self.take_over(decided, slot).boxed()).collect()).await?;
        let now = decided.paced.map_or(usize::MAX, |paced| paced.slots);
        let placed = slots.create.iter().zip(decided.hosts.iter().map(Option::as_ref)).take(now);
        run_all(placed.map(|(new, host)| self.create(decided, new, host).boxed()).collect()).await?;
        if decided.plan.finalizer == Finalizer::Remove && self.nothing_is_left(facts) {
            let commitments = self.commitments.with_permit(&self.key.cluster).await;
            self.check_preconditions()?;
            commitments.remove_finalizer(self.key, object, labels::RELEASE_SLOTS).await?;
        }
        Ok(())
    }

    /// Checks the pause right before a write, when there is nothing more to wait for, so that a commitment that is
    /// paused during its apply gets no further writes.
    fn check_preconditions(&self) -> Result<(), Error> {
        if self.pauses.commitment(self.commitment).is_some() { Err(Error::Paused) } else { Ok(()) }
    }

    /// A commitment that is gone must not get slots, because they would never be released.
    async fn protect(&self, object: &Arc<CommittedResource>) -> Result<(), Error> {
        match self.commitments.add_finalizer(self.key, object, labels::RELEASE_SLOTS).await? {
            Written::Gone => Err(Error::Changed),
            Written::Unchanged | Written::Changed(_) => Ok(()),
        }
    }

    /// A slot with finalizers of other clients still exists after its deletion, and then the finalizer of the
    /// commitment stays, too. Slots of a duplicate, slots in a cluster that a user has given up, and Reservations of
    /// other types that name the commitment in old data, do not count.
    fn nothing_is_left(&self, facts: &CommitmentFacts) -> bool {
        let named = self.reservations.store().select(&RESERVATION_BY_COMMITMENT, facts.spec.uuid.as_str());
        let mut slots = named.iter().filter(|entry| is_slot(&entry.object));
        let none_counts = facts.served_instead.is_some();
        none_counts || slots.all(|slot| facts.forgotten.contains(&slot.key.cluster))
    }

    /// A slot that is released because it is empty must still be so.
    async fn release(&self, release: &planner::Release, proof: &CompletenessProof<Reservation>) -> Result<(), Error> {
        self.delete(&release.name, if release.empty { Guard::Version } else { Guard::None }, proof).await
    }

    async fn leave(&self, leave: &ReleasedSlot) -> Result<(), Error> {
        self.delete(&leave.name, Guard::None, &leave.proof).await
    }

    async fn delete(&self, name: &SlotName, guard: Guard, proof: &CompletenessProof<Reservation>) -> Result<(), Error> {
        let key = ObjectKey::new(proof.cluster().clone(), name.as_str());
        let reservations = self.reservations.with_permit(&key.cluster).await;
        let Some(seen) = reservations.store().get(&key) else { return Ok(()) };
        self.check_preconditions()?;
        Ok(reservations.delete(&key, &seen, guard, proof).await?)
    }

    /// A slot of another commitment of the change, whose capacity the new slots take.
    async fn release_for_change(&self, slot: &SlotKey, decided: &CommitmentDecision) -> Result<(), Error> {
        let proof = decided.plan.proof.as_ref().filter(|proof| *proof.cluster() == slot.cluster);
        let Some(proof) = proof else { return Err(Error::Changed) };
        self.delete(&slot.name, Guard::None, proof).await
    }

    /// It must still be as the plan has seen it.
    async fn take_over(&self, decided: &CommitmentDecision, slot: &planner::TakeOver) -> Result<(), Error> {
        let Some(target) = &decided.plan.target else { return Ok(()) };
        let key = object_key(&decided.plan, &slot.name);
        let reservations = self.reservations.with_permit(&key.cluster).await;
        let old = reservations.store().get(&key).filter(|old| is_of(old, &slot.from)).ok_or(Error::Changed)?;
        self.check_preconditions()?;
        let new = object::taken_over(&old, target, &self.origin);
        match reservations.patch(&key, &old, &new, Guard::Version).await? {
            Written::Gone => Err(Error::Changed),
            Written::Unchanged | Written::Changed(_) => Ok(()),
        }
    }

    async fn update(&self, decided: &CommitmentDecision, update: &planner::Update) -> Result<(), Error> {
        let key = object_key(&decided.plan, &update.name);
        let reservations = self.reservations.with_permit(&key.cluster).await;
        let (Some(old), Some(target)) = (reservations.store().get(&key), &decided.plan.target) else {
            return Ok(());
        };
        self.check_preconditions()?;
        let new = object::updated(&old, target, update.size, &self.origin);
        let guard = if old.spec.resources == new.spec.resources { Guard::None } else { Guard::Version };
        let written = reservations.patch(&key, &old, &new, guard).await;
        match self.noting_doubt(&key, written)? {
            Written::Gone => Err(Error::Changed),
            Written::Unchanged | Written::Changed(_) => Ok(()),
        }
    }

    async fn create(
        &self,
        decided: &CommitmentDecision,
        new: &planner::NewSlot,
        host: Option<&HostName>,
    ) -> Result<(), Error> {
        let Some(target) = &decided.plan.target else { return Ok(()) };
        let key = object_key(&decided.plan, &new.name);
        let reservations = self.reservations.with_permit(&key.cluster).await;
        self.check_preconditions()?;
        let object = object::created(target, new, host, &self.origin, self.now);
        let written = reservations.create(&key.cluster, &object).await;
        self.noting_doubt(&key, written)?;
        if new.around.is_some() {
            self.metrics.around_vms.with_label_values(&[target.group.as_str(), target.zone.as_str()]).inc();
        }
        Ok(())
    }

    /// A write of unknown outcome may have taken free capacity, and so may an object that is in the way: the scheduler must keep
    /// it until the object was read.
    fn noting_doubt<T>(&self, key: &ObjectKey, written: Result<T, WriteError>) -> Result<T, Error> {
        if let Err(WriteError::Unknown { .. } | WriteError::AlreadyExists { .. }) = &written {
            let slot = SlotKey::from(key);
            self.scheduler.in_doubt(&slot);
            self.reservations.store().when_settled(key, || self.scheduler.settled(&slot));
        }
        Ok(written?)
    }
}

fn object_key(plan: &CommitmentPlan, name: &SlotName) -> ObjectKey {
    ObjectKey::new(plan.cluster(), name.as_str())
}

fn is_of(slot: &Reservation, commitment: &CommitmentUuid) -> bool {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.is_some_and(|data| data.commitment_uuid.as_deref() == Some(commitment.as_str()))
}

/// Runs all, several at once, to the end, so that no write is left half known; then the first error in the order of the
/// plan counts, so that the same trouble always reads the same.
pub(crate) async fn run_all(steps: Vec<BoxFuture<'_, Result<(), Error>>>) -> Result<(), Error> {
    let results: Vec<_> = stream::iter(steps).buffered(CONCURRENT_WRITES).collect().await;
    results.into_iter().collect()
}
