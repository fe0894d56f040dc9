//! The scheduler in this process: one lock around the capacity view, the pipelines and the waiting list. Every public
//! method is one critical section, so a decision and its assume entries are one step, and free capacity that an event
//! frees is given out before any other caller can take it.

mod answering;
mod budgets;
mod changes;
mod claim_limits;
mod holding;
mod host_capacities;
mod host_report;
mod inner;
#[cfg(feature = "testing")]
mod listener;
mod placing;
mod planned;
mod promises;
mod serving;
mod settings;
mod unranked;

use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::time::Duration;
use std::{fmt, mem};

use berth_capacity_view::{Claim, HeldClaim, HostState, Restored, View};
use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{ClusterName, CommitmentUuid, HostName, Resources, SlotKey, VmId, Zone};
use parking_lot::{Mutex, MutexGuard};

use crate::engine::Scope;
use crate::{
    Answer, AnswerSettings, Booking, Call, CommitmentRequest, Decision, DryRunPlacement, EnqueueSlots, Explanation,
    HostCapacity, HostVerdict, Pin, Pipelines, Placed, Placement, Request, Scheduler, SchedulerError, Shortage,
    SlotRequest,
};
use inner::Inner;

pub use claim_limits::{ClaimLimits, ClaimRefusal};
pub use host_report::{Held, HostReport};
pub use promises::Promises;
pub use settings::Settings;

/// Some ten microseconds.
const SPINS: u32 = 512;

/// The scheduler in this process.
pub struct BuiltIn {
    inner: Mutex<Inner>,
    enqueue: EnqueueSlots,
    #[cfg(feature = "testing")]
    witness: listener::ListenerSlot,
}

impl BuiltIn {
    pub fn new(settings: Settings, enqueue: EnqueueSlots) -> Self {
        Self {
            inner: Mutex::new(Inner::new(settings)),
            enqueue,
            #[cfg(feature = "testing")]
            witness: listener::ListenerSlot::default(),
        }
    }

    /// A Hypervisor appeared, changed or (`None`) was deleted.
    pub fn host_changed(&self, name: &HostName, host: Option<Host>) {
        self.change(|inner| match host {
            Some(host) => inner.set_host(Host { name: name.clone(), ..host }),
            None => inner.remove_host(name),
        });
    }

    /// A Reservation of any type appeared, changed or (`None`) was deleted.
    pub fn reservation_changed(&self, key: &SlotKey, reservation: Option<Reservation>) {
        self.change(|inner| match reservation {
            Some(reservation) => inner.set_reservation(Reservation { key: key.clone(), ..reservation }),
            None => inner.remove_reservation(key),
        });
    }

    /// A cluster has not been observed for too long, or is observed again: its hosts keep counting, but are not offered
    /// while withheld.
    pub fn withhold_cluster(&self, cluster: &ClusterName, withhold: bool) {
        self.change(|inner| {
            let offered = inner.fleet.withhold(cluster, withhold);
            inner.serve(offered);
        });
    }

    /// Replaces the pipelines; runs in progress are not disturbed.
    pub fn set_pipelines(&self, pipelines: Pipelines) {
        self.lock().settings.pipelines = pipelines;
    }

    /// The generations of the objects with this UUID, by their UIDs. From now on its slots get hosts only while all of
    /// these generations have been planned ([`Scheduler::planned`]).
    pub fn commitment_changed(&self, uuid: &CommitmentUuid, present: BTreeMap<String, i64>) {
        self.change(|inner| inner.served.extend(inner.planned.show(uuid, present)));
    }

    /// True for a slot that gets no host before its commitment has been planned; it is enqueued then.
    pub fn awaits_plan(&self, slot: &SlotRequest) -> bool {
        !self.lock().planned.admits(slot)
    }

    /// Runs a request without keeping free capacity. The slot that it is about does not count.
    pub fn run(&self, request: &Request) -> Result<Decision, SchedulerError> {
        let inner = self.lock();
        inner.run(&inner.without_own_slot(request), request, Scope::Request)
    }

    /// Decides on an external request in one critical section. Unless it is `read_only`, a claim holds the first host
    /// of the response until the view shows its effect or it expires.
    pub fn answer(&self, call: &Call<'_>) -> Result<Answer, SchedulerError> {
        self.decide(None, |inner| inner.answer(call))
    }

    /// Ends the claims that have expired; `now` is monotonic time since the process began.
    pub fn expire(&self, now: Duration) {
        self.change(|inner| inner.expire(now));
    }

    /// All claims, with what a next process needs to take them over.
    pub fn held_claims(&self) -> Vec<HeldClaim> {
        self.lock().fleet.view.held_claims().cloned().collect()
    }

    /// The claims on the hosts of a zone; an empty zone means all.
    pub fn claims_in(&self, zone: &Zone) -> Vec<Claim> {
        let inner = self.lock();
        let view = &inner.fleet.view;
        let state = |host: &HostName| view.id(host).and_then(|id| view.state(id));
        let here =
            |claim: &&Claim| zone.is_empty() || state(&claim.host).is_some_and(|state| state.host().zone == *zone);
        view.all_claims().filter(here).cloned().collect()
    }

    /// Takes over claims of an earlier process, except those whose effect is observed already. Returns the VMs that are
    /// to be booked again: their claim is for a slot that does not expect them.
    pub fn restore_claims(&self, claims: Vec<HeldClaim>) -> Vec<Booking> {
        let mut inner = self.lock();
        let fleet = &mut inner.fleet;
        let held = claims.into_iter().filter(|held| fleet.restore(held.clone()) == Restored::Kept);
        let held: Vec<HeldClaim> = held.collect();
        held.iter().filter_map(|held| again(&fleet.view, &held.claim)).collect()
    }

    /// The booking of a VM was not written and will not be: its whole size counts beside the slot from now on.
    pub fn unbook(&self, vm: &VmId) {
        self.lock().fleet.view.unbook(vm);
    }

    /// The result of a request, host by host. Changes nothing.
    pub fn explain(&self, request: &Request) -> Result<Explanation, SchedulerError> {
        let inner = self.lock();
        inner.explain(&inner.without_own_slot(request), request, None)
    }

    /// The waiting list in its order, each slot with why nothing fitted at its last try.
    pub fn waiting_slots(&self) -> Vec<(SlotRequest, Shortage)> {
        let inner = self.lock();
        inner.waiting.iter().map(|(slot, shortage)| (SlotRequest::clone(slot), shortage.clone())).collect()
    }

    /// How many answers from outside are held by a claim.
    pub fn claimed(&self) -> usize {
        self.lock().fleet.view.all_claims().len()
    }

    /// How many assume entries of slots there are, those in doubt included.
    pub fn assumed(&self) -> usize {
        self.lock().fleet.view.all_assumed().len()
    }

    /// The slots whose entries are in doubt: they end with [`Scheduler::settled`] once the object was read again.
    pub fn doubts(&self) -> Vec<SlotKey> {
        let inner = self.lock();
        inner.fleet.view.all_assumed().filter(|entry| entry.doubt).map(|entry| entry.key.clone()).collect()
    }

    /// How often a host replaced one of the same name in another cluster.
    pub fn displaced(&self) -> u64 {
        self.lock().fleet.view.displaced()
    }

    /// The hosts whose stored sums differ from calculated sums: empty unless there is a defect.
    pub fn drift(&self) -> Vec<HostName> {
        let view = self.lock().fleet.view.clone();
        view.drift()
    }

    /// Does something by which slots of the waiting list may get a host.
    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        change(&mut inner);
        if !inner.served.is_empty() {
            self.answered(&inner, None);
        }
        self.enqueue_served(inner);
    }

    /// The same with an answer that may give free capacity out.
    fn decide<T>(&self, commitment: Option<&CommitmentRequest>, decide: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let answer = decide(&mut inner);
        self.answered(&inner, commitment);
        self.enqueue_served(inner);
        answer
    }

    fn enqueue_served(&self, mut inner: MutexGuard<'_, Inner>) {
        let served = mem::take(&mut inner.served);
        drop(inner);
        if !served.is_empty() {
            (self.enqueue)(&served);
        }
    }

    /// Free capacity may have been given out; no other request has entered yet.
    #[cfg(feature = "testing")]
    fn answered(&self, inner: &Inner, commitment: Option<&CommitmentRequest>) {
        self.witness.notify(&inner.fleet.view, commitment);
    }

    #[cfg(not(feature = "testing"))]
    #[expect(clippy::unused_self, reason = "only tests listen")]
    fn answered(&self, _: &Inner, _: Option<&CommitmentRequest>) {}

    /// The lock, also after a panic: the view is whole between any two steps, and a decision works on an overlay.
    /// A thread takes longer to wake up than most critical sections last, so one that waits spins before it sleeps.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        for _ in 0..SPINS {
            if let Some(inner) = (!self.inner.is_locked()).then(|| self.inner.try_lock()).flatten() {
                return inner;
            }
            spin_loop();
        }
        self.inner.lock()
    }
}

#[cfg(feature = "testing")]
impl BuiltIn {
    /// Calls `listener`, the first one that is set, for every response that may have given free capacity out: with the
    /// view at that time, and for [`crate::Scheduler::place_all`] with the request. It must not call this scheduler.
    pub fn on_answer(
        &self,
        listener: impl Fn(&berth_capacity_view::View, Option<&CommitmentRequest>) + Send + Sync + 'static,
    ) {
        self.witness.set(Box::new(listener));
    }
}

impl fmt::Debug for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltIn").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Scheduler for BuiltIn {
    async fn place_all(&self, commitment: &CommitmentRequest) -> Result<Placement, SchedulerError> {
        self.decide(Some(commitment), |inner| inner.place_all(commitment))
    }

    async fn dry_run(&self, change: &[CommitmentRequest]) -> Result<Vec<DryRunPlacement>, SchedulerError> {
        self.lock().dry_run(change)
    }

    async fn place(&self, slot: &SlotRequest) -> Result<Placed, SchedulerError> {
        self.decide(None, |inner| inner.place(slot))
    }

    async fn pin(&self, pin: &Pin) -> Result<bool, SchedulerError> {
        self.decide(None, |inner| inner.pin(pin))
    }

    async fn probe(&self, request: &Request, _: &str) -> Result<Vec<HostName>, SchedulerError> {
        if !request.options.read_only {
            return Err(SchedulerError::Options("a probe must set read_only"));
        }
        let decision = self.run(request)?;
        decision.failed.map_or(Ok(decision.hosts), Err)
    }

    async fn probe_unranked(&self, request: &Request, _: &str) -> Result<Vec<HostName>, SchedulerError> {
        self.find_unranked(request)
    }

    fn host_capacities(&self) -> Vec<HostCapacity> {
        self.all_host_capacities()
    }

    fn free_capacity(&self, host: &HostName) -> Option<Resources> {
        self.lock().fleet.view.free(host)?.known()
    }

    fn applied(&self, keys: &[SlotKey]) {
        self.change(|inner| inner.applied(keys));
    }

    fn in_doubt(&self, key: &SlotKey) {
        self.lock().fleet.view.doubt(key);
    }

    fn settled(&self, key: &SlotKey) {
        self.change(|inner| inner.settled(key));
    }

    fn withdraw(&self, key: &SlotKey) {
        self.change(|inner| inner.withdraw(key));
    }

    fn planned(&self, commitment: &CommitmentUuid, uid: &str, generation: i64) {
        self.change(|inner| inner.served.extend(inner.planned.note(commitment, uid, generation)));
    }

    fn hold_for_change(&self, change: &str, slots: &[(HostName, Resources)]) {
        self.lock().hold_for_change(change, slots);
    }

    fn end_change(&self, change: &str) {
        self.change(|inner| inner.end_change(change));
    }

    fn verdict(&self, key: &SlotKey) -> HostVerdict {
        verdict(&self.lock().fleet.view, key)
    }

    fn waiting(&self, key: &SlotKey) -> Option<Shortage> {
        self.lock().waiting.shortage(key).cloned()
    }

    fn in_the_way(&self, keys: &[SlotKey]) -> Option<SchedulerError> {
        self.lock().in_the_way_of(keys)
    }
}

// Whether the host that a slot names is valid for it. The Reservation controller acts on the result.

fn verdict(view: &View, key: &SlotKey) -> HostVerdict {
    let Some(slot) = view.reservation(key) else { return HostVerdict::Ok };
    let Some(target) = &slot.target_host else { return HostVerdict::Ok };
    let Some(state) = view.id(target).and_then(|id| view.state(id)) else { return HostVerdict::NoSuchHost };
    let zone = &state.host().zone;
    if !slot.zone.is_empty() && slot.zone != *zone {
        return HostVerdict::WrongZone { zone: zone.clone() };
    }
    // An invalid capacity is no reason to move a slot.
    if state.host().invalid_amount.is_some() || !is_intruder(view, slot) {
        return HostVerdict::Ok;
    }
    let free = state.free();
    let without_later = free.less(Resources::ZERO - later_intruders(view, state, key));
    if without_later.overbooked() { HostVerdict::Overbooked { free } } else { HostVerdict::Ok }
}

/// The booking of a claim that the slot does not show.
fn again(view: &View, claim: &Claim) -> Option<Booking> {
    let slot = claim.slot.clone()?;
    let shown = view.slots_expecting(&claim.instance).any(|expecting| expecting.key == slot);
    (!shown).then(|| Booking { vm: claim.instance.clone(), size: claim.size, slot, leaves: Vec::new() })
}

/// An empty slot that is not in force yet and that was not placed by us: the only kind that is revoked at once.
fn is_intruder(view: &View, slot: &Reservation) -> bool {
    let in_force = slot.ready && slot.status_host == slot.target_host;
    let empty = matches!(&slot.kind, ReservationKind::Committed(vms) if vms.is_empty());
    empty && !in_force && !view.placed_by_us(&slot.key)
}

/// Of several intruders those with the last names leave first, and only as many as necessary.
fn later_intruders(view: &View, state: &HostState, key: &SlotKey) -> Resources {
    let later = state.taken().iter().filter(|taken| taken.key > *key);
    let intruders = later.filter(|taken| {
        view.reservation(&taken.key)
            .is_some_and(|slot| slot.target_host.as_ref() == Some(&state.host().name) && is_intruder(view, slot))
    });
    intruders.map(|taken| taken.block.block).sum()
}
