//! The scheduler in this process: one lock around the capacity view, the pipelines and the waiting list. Every public
//! method is one critical section, so a decision and its assume entries are one step, and room that an event frees
//! is given out before anybody else can ask (D13, U43).

mod answering;
mod holding;
mod host_report;
mod inner;
mod placing;
mod serving;
mod verdict;
#[cfg(feature = "testing")]
mod witness;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use berth_core::{ClusterName, HostName, Resources, SlotKey, VmId, host::Host, reservation::Reservation};

use crate::{
    Answer, AnswerSettings, Call, Decision, Explanation, Pin, Pipelines, Placed, Placement, Request, Scheduler,
    SchedulerError, Shortage, SlotRequest, TieBreak, Verdict, WholeRequest, engine::Scope,
};
pub use host_report::{Held, HostReport};
use inner::Inner;

/// Settings of the built-in scheduler.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How hosts of equal weight are ordered.
    pub tie_break: TieBreak,
    /// The pipelines that requests can name.
    pub pipelines: Pipelines,
    /// How requests from outside are answered.
    pub answers: AnswerSettings,
}

impl Default for Settings {
    /// The compiled-in pipelines, ties by hash.
    fn default() -> Self {
        Self { tie_break: TieBreak::default(), pipelines: Pipelines::shipped(), answers: AnswerSettings::default() }
    }
}

/// The scheduler in this process.
///
/// Slots that a host was found for while others were being placed are handed out by the next method that returns
/// slots to wake; an apply ends with [`Scheduler::applied`], so that is never far.
#[derive(Debug)]
pub struct BuiltIn {
    inner: Mutex<Inner>,
    #[cfg(feature = "testing")]
    witness: witness::Witness,
}

impl BuiltIn {
    /// A scheduler without hosts.
    pub fn new(settings: Settings) -> Self {
        Self {
            inner: Mutex::new(Inner::new(settings)),
            #[cfg(feature = "testing")]
            witness: witness::Witness::default(),
        }
    }

    /// A Hypervisor appeared, changed or (`None`) was deleted. Returns the slots to wake: each holds an assume entry
    /// now, which [`Scheduler::place`] answers.
    #[must_use = "the slots must be woken"]
    pub fn host_changed(&self, name: &HostName, host: Option<Host>) -> Vec<SlotKey> {
        let mut inner = self.lock();
        match host {
            Some(host) => inner.set_host(Host { name: name.clone(), ..host }),
            None => inner.remove_host(name),
        }
        self.woken(&mut inner)
    }

    /// A Reservation of any type appeared, changed or (`None`) was deleted. Returns the slots to wake.
    #[must_use = "the slots must be woken"]
    pub fn reservation_changed(&self, key: &SlotKey, reservation: Option<Reservation>) -> Vec<SlotKey> {
        let mut inner = self.lock();
        match reservation {
            Some(reservation) => inner.set_reservation(Reservation { key: key.clone(), ..reservation }),
            None => inner.remove_reservation(key),
        }
        self.woken(&mut inner)
    }

    /// A cluster has not been heard of for too long, or was heard of again: its hosts keep counting, but are not
    /// offered while withheld (document 60 B3). Returns the slots to wake.
    #[must_use = "the slots must be woken"]
    pub fn withhold_cluster(&self, cluster: &ClusterName, withhold: bool) -> Vec<SlotKey> {
        let mut inner = self.lock();
        let offered = inner.fleet.withhold(cluster, withhold);
        inner.serve(offered);
        self.woken(&mut inner)
    }

    /// Replaces the pipelines; runs in progress are not disturbed.
    pub fn set_pipelines(&self, pipelines: Pipelines) {
        self.lock().settings.pipelines = pipelines;
    }

    /// Runs a request without keeping room. The slot that it is about does not count.
    pub fn run(&self, request: &Request) -> Result<Decision, SchedulerError> {
        self.lock().aside(request, |inner| inner.run(request, Scope::Request))
    }

    /// Decides on a request from outside in one critical section (document 60 sections 2.5 and 14.1). Unless it is
    /// `read_only`, the first host of the answer is held by a claim until the view shows it or its time is over.
    pub fn answer(&self, call: &Call<'_>) -> Result<Answer, SchedulerError> {
        let mut inner = self.lock();
        let answer = inner.answer(call);
        self.answered(&inner, None);
        answer
    }

    /// Ends the claims of answers whose time is over; `now` is monotonic time since the process began. Returns the slots
    /// to wake.
    #[must_use = "the slots must be woken"]
    pub fn expire(&self, now: Duration) -> Vec<SlotKey> {
        let mut inner = self.lock();
        inner.expire(now);
        self.woken(&mut inner)
    }

    /// What was booked for a VM was not written and will not be: its whole size counts besides the slot from now on.
    pub fn unbook(&self, vm: &VmId) {
        self.lock().fleet.view.unbook(vm);
    }

    /// What a request would get, host by host. Changes nothing.
    pub fn explain(&self, request: &Request) -> Result<Explanation, SchedulerError> {
        self.lock().aside(request, |inner| inner.explain(request))
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

    /// The slots whose entries are in doubt: they end with [`Scheduler::settled`] once somebody has looked.
    pub fn doubts(&self) -> Vec<SlotKey> {
        let inner = self.lock();
        inner.fleet.view.all_assumed().filter(|entry| entry.doubt).map(|entry| entry.key.clone()).collect()
    }

    /// How often a host replaced one of the same name in another cluster (document 60 B2).
    pub fn displaced(&self) -> u64 {
        self.lock().fleet.view.displaced()
    }

    /// The hosts whose sums differ from sums made anew: empty unless there is a defect (document 60 section 13.2).
    pub fn drift(&self) -> Vec<HostName> {
        let view = self.lock().fleet.view.clone();
        view.drift()
    }

    /// The slots to wake: room was given to each of them.
    fn woken(&self, inner: &mut Inner) -> Vec<SlotKey> {
        let woken = inner.take_woken();
        if !woken.is_empty() {
            self.answered(inner, None);
        }
        woken
    }

    /// Room may have been given out; nobody else could ask yet.
    #[cfg(feature = "testing")]
    fn answered(&self, inner: &Inner, whole: Option<&WholeRequest>) {
        self.witness.tell(&inner.fleet.view, whole);
    }

    #[cfg(not(feature = "testing"))]
    #[expect(clippy::unused_self, reason = "only tests listen")]
    fn answered(&self, _: &Inner, _: Option<&WholeRequest>) {}

    /// The lock, also after a panic: the view is whole between any two steps, and what a decision pretended is
    /// dropped by [`Inner::begin`].
    fn lock(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.begin();
        inner
    }
}

impl Scheduler for BuiltIn {
    async fn place_all(&self, whole: &WholeRequest) -> Result<Placement, SchedulerError> {
        let mut inner = self.lock();
        let placement = inner.place_all(whole);
        self.answered(&inner, Some(whole));
        placement
    }

    async fn place(&self, slot: &SlotRequest) -> Result<Placed, SchedulerError> {
        let mut inner = self.lock();
        let placed = inner.place(slot);
        self.answered(&inner, None);
        placed
    }

    async fn pin(&self, pin: &Pin) -> Result<bool, SchedulerError> {
        let mut inner = self.lock();
        let pinned = inner.pin(pin);
        self.answered(&inner, None);
        pinned
    }

    async fn probe(&self, request: &Request) -> Result<Vec<HostName>, SchedulerError> {
        if !request.options.read_only {
            return Err(SchedulerError::Options("a probe must set read_only"));
        }
        let decision = self.run(request)?;
        decision.failed.map_or(Ok(decision.hosts), Err)
    }

    fn room(&self, host: &HostName) -> Option<Resources> {
        self.lock().fleet.view.free(host)?.known()
    }

    fn applied(&self, keys: &[SlotKey]) -> Vec<SlotKey> {
        let mut inner = self.lock();
        inner.applied(keys);
        self.woken(&mut inner)
    }

    fn in_doubt(&self, key: &SlotKey) {
        self.lock().fleet.view.doubt(key);
    }

    fn settled(&self, key: &SlotKey) -> Vec<SlotKey> {
        let mut inner = self.lock();
        inner.settled(key);
        self.woken(&mut inner)
    }

    fn withdraw(&self, key: &SlotKey) -> Vec<SlotKey> {
        let mut inner = self.lock();
        inner.withdraw(key);
        self.woken(&mut inner)
    }

    fn verdict(&self, key: &SlotKey) -> Verdict {
        verdict::verdict(&self.lock().fleet.view, key)
    }

    fn waiting(&self, key: &SlotKey) -> Option<Shortage> {
        self.lock().waiting.shortage(key).cloned()
    }
}
