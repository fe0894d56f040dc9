//! The queues that components other than watches fill, and how the scheduler learns of hosts and reservations.

use std::sync::Arc;

use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_cluster::{ObjectKey, Requests, Routes, Store, Stores, feed_changes, feed_hosts, feed_reservations};
use berth_crds::CommittedResource;
use berth_scheduler::{BuiltIn, EnqueueSlots, Scheduler};

/// The requests of the controllers whose keys the scheduler and the ledger of cores enqueue as well.
#[derive(Clone)]
pub struct Queues {
    pub commitments: Requests<ObjectKey>,
    pub slots: Requests<ObjectKey>,
}

impl Queues {
    pub(super) fn closed() -> Self {
        Self { commitments: Requests::closed(), slots: Requests::closed() }
    }

    /// The scheduler enqueues slots that it has found a host for.
    pub(super) fn enqueue_slots(&self) -> EnqueueSlots {
        let requests = self.slots.clone();
        Box::new(move |slots| requests.add(slots.iter().map(ObjectKey::from)))
    }
}

/// Connects the scheduler to changes of hosts and reservations. To be called before the stores are fed.
pub(super) fn feed_view(stores: &Stores, scheduler: &Arc<BuiltIn>, routes: &Routes) {
    let view = scheduler.clone();
    feed_hosts(&stores.hypervisors, routes, move |name, host| view.host_changed(name, host));
    let view = scheduler.clone();
    feed_reservations(&stores.reservations, move |key, reservation| view.reservation_changed(key, reservation));
    let view = scheduler.clone();
    feed_changes(&stores.changes, move |change| view.end_change(change));
}

/// Shows the scheduler the commitments that there are, from now on: their slots get hosts once they have been planned.
/// To be called once, by the process that plans them.
pub(super) fn feed_commitments(commitments: &Store<CommittedResource>, scheduler: &Arc<BuiltIn>) {
    let (store, scheduler) = (commitments.clone(), scheduler.clone());
    let show = move |object: &CommittedResource| {
        let uuid = &object.spec.commitment_uuid;
        let present = store.select(&COMMITMENT_BY_UUID, uuid).into_iter().map(|entry| version(&entry.object));
        scheduler.commitment_changed(&uuid.as_str().into(), present.collect());
    };
    let shown = show.clone();
    commitments.on_state(move |change| {
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        if old.map(version) != new.map(version) {
            old.into_iter().chain(new).for_each(&shown);
        }
    });
    commitments.all().iter().for_each(|entry| show(&entry.object));
}

/// The UID and the generation of a commitment.
fn version(object: &CommittedResource) -> (String, i64) {
    let metadata = &object.metadata;
    (metadata.uid.clone().unwrap_or_default(), metadata.generation.unwrap_or_default())
}

/// Entries in doubt whose objects have been read again end here, so that no capacity stays taken for a slot that does
/// not exist.
pub(super) fn end_settled_doubts(stores: &Stores, scheduler: &BuiltIn) {
    for slot in scheduler.doubts() {
        stores.reservations.when_settled(&ObjectKey::from(&slot), || scheduler.settled(&slot));
    }
}

#[cfg(test)]
mod tests;
