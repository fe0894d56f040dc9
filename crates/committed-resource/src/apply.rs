//! Apply: brings the decided plan into the world. Every step is idempotent and the world is sound after any of them:
//! the finalizer comes before the first slot, what is released goes before what is created, and the finalizer goes
//! last.

use std::sync::Arc;

use berth_cluster::indexes::RESERVATION_BY_COMMITMENT;
use berth_cluster::{Freezer, Guard, ObjectKey, Whole, WriteError, Writer, Written};
use berth_core::{HostName, SlotKey, SlotName, planner};
use berth_crds::{CommittedResource, Reservation, labels};
use berth_scheduler::Scheduler;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};

use crate::error::Error;
use crate::facts::Facts;
use crate::object::{self, Origin};
use crate::plan::{Decided, Finalizer, Leave, Plan};
use crate::read::is_slot;

/// Writes of one plan that are under way at once.
const CONCURRENT_WRITES: usize = 16;

/// What writes need.
pub(crate) struct Apply<'a, S> {
    pub(crate) key: &'a ObjectKey,
    pub(crate) commitments: &'a Writer<CommittedResource>,
    pub(crate) reservations: &'a Writer<Reservation>,
    pub(crate) scheduler: &'a S,
    pub(crate) freezer: &'a Freezer,
    pub(crate) commitment: &'a CommittedResource,
    pub(crate) origin: Origin,
}

impl<S: Scheduler> Apply<'_, S> {
    /// Runs the plan. After an error the rest is not done; the next look plans from what there is.
    pub(crate) async fn run(
        &self,
        object: &Arc<CommittedResource>,
        facts: &Facts,
        decided: &Decided,
    ) -> Result<(), Error> {
        if decided.plan.finalizer == Finalizer::Add {
            self.protect(object).await?;
        }
        let slots = &decided.plan.slots;
        if let Some(whole) = &decided.plan.whole {
            all(slots.release.iter().map(|release| self.release(release, whole).boxed()).collect()).await?;
        }
        all(decided.plan.leave.iter().map(|leave| self.leave(leave).boxed()).collect()).await?;
        all(slots.update.iter().map(|update| self.update(decided, update).boxed()).collect()).await?;
        let now = decided.paced.map_or(usize::MAX, |paced| paced.slots);
        let placed = slots.create.iter().zip(decided.hosts.iter().map(Option::as_ref)).take(now);
        all(placed.map(|(new, host)| self.create(decided, new, host).boxed()).collect()).await?;
        if decided.plan.finalizer == Finalizer::Remove && self.nothing_is_left(facts) {
            let commitments = self.commitments.in_turn(&self.key.cluster).await;
            self.may_go_on()?;
            commitments.remove_finalizer(self.key, object, labels::RELEASE_SLOTS).await?;
        }
        Ok(())
    }

    /// Whoever freezes a commitment in the middle of its apply finds no write that was not under way: to be asked when
    /// there is nothing more to wait for.
    fn may_go_on(&self) -> Result<(), Error> {
        if self.freezer.commitment(self.commitment).is_some() { Err(Error::Frozen) } else { Ok(()) }
    }

    /// A commitment that has gone meanwhile must not get slots: nobody would ever release them.
    async fn protect(&self, object: &Arc<CommittedResource>) -> Result<(), Error> {
        match self.commitments.add_finalizer(self.key, object, labels::RELEASE_SLOTS).await? {
            Written::Gone => Err(Error::Changed),
            Written::Unchanged | Written::Changed(_) => Ok(()),
        }
    }

    /// A slot with finalizers of others is still there after its deletion: then ours stays, too. What a duplicate
    /// shows, what is known of a cluster that a person has given up, and Reservations of other types that name the
    /// commitment in old data, do not count.
    fn nothing_is_left(&self, facts: &Facts) -> bool {
        let named = self.reservations.store().select(&RESERVATION_BY_COMMITMENT, facts.spec.uuid.as_str());
        let mut slots = named.iter().filter(|entry| is_slot(&entry.object));
        let none_counts = facts.served_instead.is_some();
        none_counts || slots.all(|slot| facts.forgotten.contains(&slot.key.cluster))
    }

    /// A slot that is released because it is empty must still be so.
    async fn release(&self, release: &planner::Release, whole: &Whole<Reservation>) -> Result<(), Error> {
        self.delete(&release.name, if release.empty { Guard::Version } else { Guard::None }, whole).await
    }

    async fn leave(&self, leave: &Leave) -> Result<(), Error> {
        self.delete(&leave.name, Guard::None, &leave.whole).await
    }

    async fn delete(&self, name: &SlotName, guard: Guard, whole: &Whole<Reservation>) -> Result<(), Error> {
        let key = ObjectKey::new(whole.cluster().clone(), name.as_str());
        let reservations = self.reservations.in_turn(&key.cluster).await;
        let Some(seen) = reservations.store().get(&key) else { return Ok(()) };
        self.may_go_on()?;
        Ok(reservations.delete(&key, &seen, guard, whole).await?)
    }

    async fn update(&self, decided: &Decided, update: &planner::Update) -> Result<(), Error> {
        let key = object_key(&decided.plan, &update.name);
        let reservations = self.reservations.in_turn(&key.cluster).await;
        let (Some(old), Some(target)) = (reservations.store().get(&key), &decided.plan.target) else {
            return Ok(());
        };
        self.may_go_on()?;
        let new = object::updated(&old, target, update.size, &self.origin);
        let guard = if old.spec.resources == new.spec.resources { Guard::None } else { Guard::Version };
        let written = reservations.patch(&key, &old, &new, guard).await;
        match self.noting_doubt(&key, written)? {
            Written::Gone => Err(Error::Changed),
            Written::Unchanged | Written::Changed(_) => Ok(()),
        }
    }

    async fn create(&self, decided: &Decided, new: &planner::NewSlot, host: Option<&HostName>) -> Result<(), Error> {
        let Some(target) = &decided.plan.target else { return Ok(()) };
        let key = object_key(&decided.plan, &new.name);
        let reservations = self.reservations.in_turn(&key.cluster).await;
        self.may_go_on()?;
        let object = object::created(target, new, host, &self.origin);
        let written = reservations.create(&key.cluster, &object).await;
        self.noting_doubt(&key, written).map(drop)
    }

    /// A write of unknown outcome may have taken room: the scheduler must keep it until the object was looked up.
    fn noting_doubt<T>(&self, key: &ObjectKey, written: Result<T, WriteError>) -> Result<T, Error> {
        if let Err(WriteError::Unknown { .. }) = &written {
            self.scheduler.in_doubt(&SlotKey::from(key));
        }
        Ok(written?)
    }
}

fn object_key(plan: &Plan, name: &SlotName) -> ObjectKey {
    ObjectKey::new(plan.cluster(), name.as_str())
}

/// Runs all, several at once, to the end, so that no write is left half known; then the first error in the order of the
/// plan counts, so that the same trouble always reads the same.
async fn all(steps: Vec<BoxFuture<'_, Result<(), Error>>>) -> Result<(), Error> {
    let results: Vec<_> = stream::iter(steps).buffered(CONCURRENT_WRITES).collect().await;
    results.into_iter().collect()
}
