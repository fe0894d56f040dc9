//! The one interface behind which slots find hosts, whoever decides: the scheduler in this process or an external one.
//! Controllers know only this.

use std::future::Future;

use berth_core::{HostName, Resources, SlotKey};

use crate::{Pin, Placed, Placement, Request, SchedulerError, Shortage, SlotRequest, Verdict, WholeRequest};

/// Enqueues slots that a host was found for: each holds an assume entry, which [`Scheduler::place`] answers. It is called
/// without any lock of the scheduler.
pub type EnqueueSlots = Box<dyn Fn(&[SlotKey]) + Send + Sync>;

/// Gives slots hosts and remembers what it gave until it is seen.
///
/// Every host that `place_all`, `place` and `pin` answer is held by an assume entry. The caller then writes, tells the
/// store (which tells the scheduler), and ends with [`applied`](Self::applied), whether the writes succeeded or not;
/// before that it calls [`in_doubt`](Self::in_doubt) for each write of unknown outcome. Slots that a host was found for
/// in the meantime are enqueued by the scheduler itself.
pub trait Scheduler: Send + Sync + 'static {
    /// Decides on all slots of a commitment at once.
    fn place_all(&self, whole: &WholeRequest) -> impl Future<Output = Result<Placement, SchedulerError>> + Send;

    /// Decides on one slot. A host that is kept for it already is the answer as long as it is good for the size and
    /// the zone; without a host the slot enters the waiting list.
    fn place(&self, slot: &SlotRequest) -> impl Future<Output = Result<Placed, SchedulerError>> + Send;

    /// Takes room on a given host; false when the host is unknown, in another zone or too full.
    fn pin(&self, pin: &Pin) -> impl Future<Output = Result<bool, SchedulerError>> + Send;

    /// Asks for ranked hosts; `options.read_only` must be set, nothing is changed.
    fn probe(&self, request: &Request) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send;

    /// The free room of a host, negative when it is over-booked; `None` for an unknown host, one without readable
    /// capacity, or when the built-in scheduler is not in use. A question for planning only.
    fn room(&self, host: &HostName) -> Option<Resources>;

    /// The apply that the assume entries of these slots belong to has ended: entries that no observation has ended and
    /// that are not in doubt are dropped.
    fn applied(&self, keys: &[SlotKey]);

    /// The outcome of a write for this slot is unknown: its entry stays until an observation settles it.
    fn in_doubt(&self, key: &SlotKey);

    /// The object of an entry in doubt was looked up and does not exist or is not what was written.
    fn settled(&self, key: &SlotKey);

    /// The slot does not look for a host any more, for example because it is frozen: it leaves the waiting list, and
    /// what was kept for it there is free.
    fn withdraw(&self, key: &SlotKey);

    /// Whether the host that the slot names is good for it.
    fn verdict(&self, key: &SlotKey) -> Verdict;

    /// Why the slot found no host at its last try, while it is in the waiting list.
    fn waiting(&self, key: &SlotKey) -> Option<Shortage>;
}
