//! The state under the lock, and the events that change it. Placing is in `placing`, answering external requests in
//! `answering`, giving out capacity that becomes free in `serving`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_capacity_view::Overlay;
use berth_core::host::Host;
use berth_core::reservation::Reservation;
use berth_core::{HostName, SlotKey};
use jiff::Timestamp;

use super::planned::PlannedCommitments;
use super::settings::Settings;
use crate::engine::{self, Scope};
use crate::fleet::Fleet;
use crate::{Decision, Explanation, Request, SchedulerError, Shortage, SlotRequest, Stopwatch, WaitingRank, explain};

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) fleet: Fleet,
    pub(super) settings: Settings,
    pub(super) waiting: WaitingList,
    /// Slots from the waiting list that have an entry and have not requested their host yet.
    pub(super) kept: BTreeSet<SlotKey>,
    /// Those of them, and those whose commitment has been planned, that are not enqueued yet.
    pub(super) served: Vec<SlotKey>,
    pub(super) planned: PlannedCommitments,
    /// The hosts on which capacity is held for an open change, by its name.
    pub(super) held: BTreeMap<String, BTreeSet<HostName>>,
    /// The open changes whose capacity slots have got that may not exist yet.
    pub(super) given: BTreeMap<SlotKey, String>,
}

impl Inner {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            fleet: Fleet::default(),
            settings,
            waiting: WaitingList::default(),
            kept: BTreeSet::new(),
            served: Vec::new(),
            planned: PlannedCommitments::default(),
            held: BTreeMap::new(),
            given: BTreeMap::new(),
        }
    }

    pub(super) fn set_host(&mut self, host: Host) {
        let zone = host.zone.clone();
        let change = self.fleet.set_host(host);
        self.fleet.budgets.land(change.landed, &zone);
        let mut freed = change.freed;
        freed.extend(change.gained.then_some(change.id));
        self.serve(freed);
    }

    pub(super) fn remove_host(&mut self, name: &HostName) {
        self.fleet.remove_host(name);
    }

    /// A slot with a host leaves the waiting list. If it has not requested the host that was kept for it, another
    /// client has chosen one, and the kept capacity is free.
    pub(super) fn set_reservation(&mut self, reservation: Reservation) {
        let key = reservation.key.clone();
        let placed = reservation.target_host.is_some();
        let mut freed = self.fleet.view.set_reservation(reservation);
        if placed {
            self.waiting.leave(&key);
            if self.kept.remove(&key) {
                freed.extend(self.fleet.view.forget(&key));
            }
        }
        self.serve(freed);
    }

    pub(super) fn remove_reservation(&mut self, key: &SlotKey) {
        self.waiting.leave(key);
        self.kept.remove(key);
        let freed = self.fleet.view.remove_reservation(key);
        self.serve(freed);
    }

    pub(super) fn applied(&mut self, keys: &[SlotKey]) {
        let mut freed = Vec::new();
        for key in keys {
            self.kept.remove(key);
            if self.fleet.view.assumed(key).is_some_and(|entry| !entry.doubt) {
                freed.extend(self.end_entry(key));
            }
        }
        self.serve(freed);
    }

    /// Only an entry in doubt ends: a read proves nothing about a write that began after it.
    pub(super) fn settled(&mut self, key: &SlotKey) {
        if self.fleet.view.assumed(key).is_some_and(|entry| entry.doubt) {
            self.kept.remove(key);
            let freed = self.end_entry(key);
            self.serve(freed);
        }
    }

    /// Entries that an apply holds end with that apply.
    pub(super) fn withdraw(&mut self, key: &SlotKey) {
        self.waiting.leave(key);
        if self.kept.contains(key) {
            self.applied(std::slice::from_ref(key));
        }
    }

    pub(super) fn run(
        &self,
        overlay: &Overlay<'_>,
        request: &Request,
        scope: Scope<'_>,
    ) -> Result<Decision, SchedulerError> {
        let pipeline = self.settings.pipelines.get(request.pipeline_name()?)?;
        engine::run(&pipeline, request, (&self.fleet, overlay, None), scope, self.settings.tie_break, None)
    }

    /// The same for all hosts of the request, at a time, and with a stopwatch with a trace of every step.
    pub(super) fn timed(
        &self,
        overlay: &Overlay<'_>,
        request: &Request,
        time: Option<Timestamp>,
        stopwatch: Option<&dyn Stopwatch>,
    ) -> Result<Decision, SchedulerError> {
        let pipeline = self.settings.pipelines.get(request.pipeline_name()?)?;
        let facts = (&self.fleet, overlay, time);
        engine::run(&pipeline, request, facts, Scope::Request, self.settings.tie_break, stopwatch)
    }

    pub(super) fn explain(
        &self,
        overlay: &Overlay<'_>,
        request: &Request,
        time: Option<Timestamp>,
    ) -> Result<Explanation, SchedulerError> {
        let pipeline = self.settings.pipelines.get(request.pipeline_name()?)?;
        explain::explain(&pipeline, request, (&self.fleet, overlay, time), self.settings.tie_break)
    }
}

// The waiting list: slots without a host, oldest commitment first. It remembers why the last try failed; whether freed
// free capacity fits is tried by its owner.

#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingList {
    slots: BTreeMap<(WaitingRank, SlotKey), (Arc<SlotRequest>, Shortage)>,
    ranks: BTreeMap<SlotKey, WaitingRank>,
}

impl WaitingList {
    /// Enters a slot, or refreshes its request and counts.
    pub(crate) fn enter(&mut self, slot: &SlotRequest, shortage: Shortage) {
        self.leave(&slot.key);
        self.ranks.insert(slot.key.clone(), slot.rank.clone());
        self.slots.insert((slot.rank.clone(), slot.key.clone()), (Arc::new(slot.clone()), shortage));
    }

    pub(crate) fn leave(&mut self, key: &SlotKey) {
        if let Some(rank) = self.ranks.remove(key) {
            self.slots.remove(&(rank, key.clone()));
        }
    }

    pub(crate) fn has(&self, key: &SlotKey) -> bool {
        self.ranks.contains_key(key)
    }

    pub(crate) fn shortage(&self, key: &SlotKey) -> Option<&Shortage> {
        self.entry(key).map(|(_, shortage)| shortage)
    }

    pub(crate) fn request(&self, key: &SlotKey) -> Option<&SlotRequest> {
        self.entry(key).map(|(slot, _)| &**slot)
    }

    fn entry(&self, key: &SlotKey) -> Option<&(Arc<SlotRequest>, Shortage)> {
        let rank = self.ranks.get(key)?;
        self.slots.get(&(rank.clone(), key.clone()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Arc<SlotRequest>, Shortage)> {
        self.slots.values()
    }
}
