//! The interface through which slots find hosts, implemented by the scheduler in this process and by an external one.
//! Controllers use only this interface.

use std::future::Future;

use berth_core::{CommitmentUuid, HostName, Resources, SlotKey};

use crate::{
    CommitmentRequest, DryRunPlacement, HostCapacity, HostVerdict, Pin, Placed, Placement, Request, SchedulerError,
    Shortage, SlotRequest,
};

/// Enqueues slots that a host was found for: each holds an assume entry, which [`Scheduler::place`] answers. It is called
/// without any lock of the scheduler.
pub type EnqueueSlots = Box<dyn Fn(&[SlotKey]) + Send + Sync>;

/// Gives slots hosts and keeps its decisions until they are observed.
///
/// An assume entry holds every host that `place_all`, `place` and `pin` return. The caller then writes, updates the
/// store (which updates the scheduler), and ends with [`applied`](Self::applied), whether the writes succeeded or not;
/// before that it calls [`in_doubt`](Self::in_doubt) for each write of unknown outcome. The scheduler itself enqueues
/// slots that got a host in the meantime.
pub trait Scheduler: Send + Sync + 'static {
    /// Decides on all slots of a commitment at once.
    fn place_all(
        &self,
        commitment: &CommitmentRequest,
    ) -> impl Future<Output = Result<Placement, SchedulerError>> + Send;

    /// What [`place_all`](Self::place_all) would answer for these commitments together: everything that any of them releases
    /// counts as free, and what one gets is taken for the next. Nothing is kept.
    fn dry_run(
        &self,
        change: &[CommitmentRequest],
    ) -> impl Future<Output = Result<Vec<DryRunPlacement>, SchedulerError>> + Send;

    /// Decides on one slot. A host that is already kept for the slot is returned as long as it is valid for the size
    /// and the zone; without a host the slot enters the waiting list.
    fn place(&self, slot: &SlotRequest) -> impl Future<Output = Result<Placed, SchedulerError>> + Send;

    /// Takes free capacity on a given host; false when the host is unknown, in another zone or too full.
    fn pin(&self, pin: &Pin) -> impl Future<Output = Result<bool, SchedulerError>> + Send;

    /// Asks for ranked hosts; `options.read_only` must be set, nothing is changed. An external scheduler gets the id with the
    /// request, so that its log shows which requests belong together.
    fn probe(
        &self,
        request: &Request,
        global_request_id: &str,
    ) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send;

    /// The hosts that [`probe`](Self::probe) answers, in any order. The scheduler in this process lets others decide in between.
    fn probe_unranked(
        &self,
        request: &Request,
        global_request_id: &str,
    ) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send;

    /// All hosts with their capacity, in the order of their names. Others can use the scheduler meanwhile, so the hosts may be
    /// of different moments.
    fn host_capacities(&self) -> Vec<HostCapacity>;

    /// The free capacity of a host, negative if it is over-booked; `None` for an unknown host, one without valid
    /// capacity, or if the built-in scheduler is not in use. For planning only.
    fn free_capacity(&self, host: &HostName) -> Option<Resources>;

    /// The apply that the assume entries of these slots belong to has ended: entries that no observation has ended and
    /// that are not in doubt are dropped.
    fn applied(&self, keys: &[SlotKey]);

    /// The outcome of a write for this slot is unknown: its entry stays until an observation settles it.
    fn in_doubt(&self, key: &SlotKey);

    /// The object of an entry in doubt was read again and does not exist or differs from the write.
    fn settled(&self, key: &SlotKey);

    /// The slot no longer waits for a host, for example because it is paused: it leaves the waiting list, and its kept
    /// capacity becomes free.
    fn withdraw(&self, key: &SlotKey);

    /// The controller of commitments has planned the object with this UID at this generation: its slots are wanted.
    fn planned(&self, _commitment: &CommitmentUuid, _uid: &str, _generation: i64) {}

    /// Holds the capacity of slots that an open change has deleted, as far as it is free: for a process that takes over.
    fn hold_for_change(&self, _change: &str, _slots: &[(HostName, Resources)]) {}

    /// The change has ended: what was held for it is free.
    fn end_change(&self, _change: &str) {}

    /// Whether the host that the slot names is valid for it.
    fn verdict(&self, key: &SlotKey) -> HostVerdict;

    /// Why the slot found no host at its last try, while it is in the waiting list.
    fn waiting(&self, key: &SlotKey) -> Option<Shortage>;

    /// What keeps these slots without a host from hosts although it may end by itself: claims and entries in doubt. `None`
    /// if they would find no hosts without that either.
    fn in_the_way(&self, _keys: &[SlotKey]) -> Option<SchedulerError> {
        None
    }
}
