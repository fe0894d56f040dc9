//! Violations that may exist for a limited time: a slot on a host that is gone or in another zone, and an orphaned slot.
//! The time is an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_crds::Reservation;
use berth_crds::conditions::safety;

use crate::slots::{is_ours, on_its_way_out, orphaned, wrong_zone};
use crate::{Invariant, Key, PausedScope, Snapshot, Touched, Violation};

/// Checks one of the invariants about time. It is up to date if [`Overdue::learn`] gets every change, and all objects
/// at the beginning. All times are readings of one monotonic clock.
#[derive(Clone, Debug)]
pub struct Overdue {
    invariant: Invariant,
    limit: Duration,
    paused: PausedScope,
    noticed: BTreeMap<Key, ObservedSince>,
}

/// A problem of a slot, and the time since when it has existed.
#[derive(Clone, Debug)]
struct ObservedSince {
    what: String,
    since: Duration,
}

impl Overdue {
    /// Slots on hosts that have gone, which may stay there for `limit`: the grace of the operator, and the time that it
    /// takes for hearing, deciding and writing.
    pub fn on_gone_hosts(limit: Duration, paused: PausedScope) -> Self {
        Self { invariant: Invariant::SlotOnGoneHost, limit, paused, noticed: BTreeMap::new() }
    }

    /// Slots on hosts that were given another zone, also those that stay because of their VMs.
    pub fn on_relabelled_hosts(limit: Duration, paused: PausedScope) -> Self {
        Self { invariant: Invariant::SlotOnRelabelledHost, ..Self::on_gone_hosts(limit, paused) }
    }

    /// Slots that carry our mark and that no commitment has, which may stay for `limit`.
    pub fn without_commitment(limit: Duration, paused: PausedScope) -> Self {
        Self { invariant: Invariant::OrphanStays, ..Self::on_gone_hosts(limit, paused) }
    }

    /// Records a change by any client. Problems that begin with it count from `now` on. Slots that are paused or held
    /// back by the disruption limit do not count, and begin again when that ends.
    pub fn learn(&mut self, snapshot: &Snapshot, touched: &Touched, now: Duration) {
        self.noticed.retain(|key, _| snapshot.slot(key).is_some());
        for key in concerned(snapshot, touched) {
            match self.wrong(snapshot, key) {
                None => drop(self.noticed.remove(key)),
                Some(what) if self.noticed.get(key).is_some_and(|noticed| noticed.what == what) => {}
                Some(what) => drop(self.noticed.insert(key.clone(), ObservedSince { what, since: now })),
            }
        }
    }

    /// Up to now it could not be known or repaired: the process has just started, was paused, or could not read or reach a
    /// cluster. Everything that is wrong counts from `now` on.
    pub fn interrupted(&mut self, now: Duration) {
        self.noticed.values_mut().for_each(|noticed| noticed.since = now);
    }

    /// The problems that have lasted too long, ascending.
    pub fn violations(&self, now: Duration) -> Vec<Violation> {
        let late = self.noticed.iter().filter(|(_, noticed)| now.saturating_sub(noticed.since) > self.limit);
        let text = |noticed: &ObservedSince| format!("{}, for longer than {:?}", noticed.what, self.limit);
        late.map(|(key, noticed)| Violation::new(self.invariant, key, text(noticed))).collect()
    }

    fn wrong(&self, snapshot: &Snapshot, key: &Key) -> Option<String> {
        let slot = snapshot.slot(key).filter(|slot| !on_its_way_out(slot) && !is_held_back(slot))?;
        let what = match self.invariant {
            Invariant::OrphanStays if is_ours(slot) => orphaned(snapshot, key, slot).map(|violation| violation.text),
            Invariant::SlotOnRelabelledHost => wrong_zone(snapshot, key, slot).map(|violation| violation.text),
            Invariant::SlotOnGoneHost if has_flavor(slot) => find_gone_host(snapshot, slot),
            _ => None,
        };
        what.filter(|_| !self.paused.covers(snapshot, slot))
    }
}

fn concerned<'a>(snapshot: &'a Snapshot, touched: &'a Touched) -> BTreeSet<&'a Key> {
    let on_hosts = touched.hosts.iter().flat_map(|host| snapshot.reservations_on(host)).map(|(key, _)| key);
    let siblings = touched.commitments.iter().flat_map(|uuid| snapshot.slots_of(uuid)).map(|(key, _)| key);
    touched.slots.iter().chain(on_hosts).chain(siblings).collect()
}

fn find_gone_host(snapshot: &Snapshot, slot: &Reservation) -> Option<String> {
    let host = slot.spec.target_host.as_deref().filter(|host| !snapshot.has_host(host))?;
    Some(format!("its host {host} does not exist"))
}

/// The slot has the condition of the disruption limit.
fn is_held_back(slot: &Reservation) -> bool {
    slot.status.as_ref().is_some_and(|status| safety::holds(&status.conditions, safety::DISRUPTION_LIMITED))
}

fn has_flavor(slot: &Reservation) -> bool {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.resource_name.as_deref()).is_some_and(|name| !name.is_empty())
}
