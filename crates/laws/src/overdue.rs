//! What may be so for a while and not for longer: a slot on a host that has gone, and a slot of ours that nobody
//! commits any more. It decides since when that is so and when it is too long; the time is an argument, and so is that
//! nobody could know of it or do anything about it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_crds::Reservation;
use berth_crds::conditions::safety;

use crate::slots::{is_ours, on_its_way_out, orphaned};
use crate::{Frozen, Key, Law, Snapshot, Touched, Violation};

/// Watches over one of the two laws. Right after every change when [`Overdue::learn`] is told of every change, and of
/// everything that is there at the beginning. All times are readings of one monotonic clock.
#[derive(Clone, Debug)]
pub struct Overdue {
    law: Law,
    limit: Duration,
    frozen: Frozen,
    noticed: BTreeMap<Key, Noticed>,
}

/// What is not as it should be about a slot, and since when.
#[derive(Clone, Debug)]
struct Noticed {
    what: String,
    since: Duration,
}

impl Overdue {
    /// Slots on hosts that have gone, which may stay there for `limit`: the grace of the operator, and the time that it
    /// takes for hearing, deciding and writing.
    pub fn on_gone_hosts(limit: Duration, frozen: Frozen) -> Self {
        Self { law: Law::SlotOnGoneHost, limit, frozen, noticed: BTreeMap::new() }
    }

    /// Slots that carry our mark and that no commitment has, which may stay for `limit`.
    pub fn without_commitment(limit: Duration, frozen: Frozen) -> Self {
        Self { law: Law::OrphanStays, ..Self::on_gone_hosts(limit, frozen) }
    }

    /// Something was changed, by whomever. What begins to be wrong counts from `now` on. What is frozen or held back by
    /// the brake does not count, and begins anew when it is no more.
    pub fn learn(&mut self, snapshot: &Snapshot, touched: &Touched, now: Duration) {
        self.noticed.retain(|key, _| snapshot.slot(key).is_some());
        for key in concerned(snapshot, touched) {
            match self.wrong(snapshot, key) {
                None => drop(self.noticed.remove(key)),
                Some(what) if self.noticed.get(key).is_some_and(|noticed| noticed.what == what) => {}
                Some(what) => drop(self.noticed.insert(key.clone(), Noticed { what, since: now })),
            }
        }
    }

    /// Up to now nobody could know of it or act: the process has just begun, stood still, or could not read or reach a
    /// cluster. Everything that is wrong counts from `now` on.
    pub fn interrupted(&mut self, now: Duration) {
        self.noticed.values_mut().for_each(|noticed| noticed.since = now);
    }

    /// What has been wrong for longer than it may, ascending.
    pub fn broken(&self, now: Duration) -> Vec<Violation> {
        let late = self.noticed.iter().filter(|(_, noticed)| now.saturating_sub(noticed.since) > self.limit);
        let text = |noticed: &Noticed| format!("{}, for longer than {:?}", noticed.what, self.limit);
        late.map(|(key, noticed)| Violation::new(self.law, key, text(noticed))).collect()
    }

    fn wrong(&self, snapshot: &Snapshot, key: &Key) -> Option<String> {
        let slot = snapshot.slot(key).filter(|slot| !on_its_way_out(slot) && !is_held_back(slot))?;
        let what = match self.law {
            Law::OrphanStays if is_ours(slot) => orphaned(snapshot, key, slot).map(|violation| violation.text),
            Law::SlotOnGoneHost if has_flavor(slot) => gone(snapshot, slot),
            _ => None,
        };
        what.filter(|_| !self.frozen.covers(snapshot, slot))
    }
}

fn concerned<'a>(snapshot: &'a Snapshot, touched: &'a Touched) -> BTreeSet<&'a Key> {
    let on_hosts = touched.hosts.iter().flat_map(|host| snapshot.reservations_on(host)).map(|(key, _)| key);
    let siblings = touched.commitments.iter().flat_map(|uuid| snapshot.slots_of(uuid)).map(|(key, _)| key);
    touched.slots.iter().chain(on_hosts).chain(siblings).collect()
}

fn gone(snapshot: &Snapshot, slot: &Reservation) -> Option<String> {
    let host = slot.spec.target_host.as_deref().filter(|host| !snapshot.has_host(host))?;
    Some(format!("its host {host} does not exist"))
}

/// The brake says so on the slot.
fn is_held_back(slot: &Reservation) -> bool {
    slot.status.as_ref().is_some_and(|status| safety::holds(&status.conditions, safety::BRAKED))
}

/// One without is nobody's to move.
fn has_flavor(slot: &Reservation) -> bool {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.resource_name.as_deref()).is_some_and(|name| !name.is_empty())
}
