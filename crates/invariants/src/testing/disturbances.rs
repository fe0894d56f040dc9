//! Checks the disruption limit from outside: how many slots of a zone were deleted or lost their host within ten
//! minutes although no user asked for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use berth_crds::{Reservation, Time};
use jiff::{SignedDuration, Timestamp};

use super::desired::is_wished;
use crate::slots::on_its_way_out;
use crate::snapshot::commitment_of;
use crate::{Invariant, Key, Snapshot, Touched, Violation};

/// How long a disturbance counts: ten minutes, less a minute in which an allowed change may still be written.
const WINDOW: Duration = Duration::from_secs(540);

/// How long after a change of a commitment an operator may still act upon the old spec.
const HEARD: Duration = Duration::from_secs(60);

/// How far ahead a user may confirm.
const FARTHEST: SignedDuration = SignedDuration::from_hours(24);

/// A moment, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub elapsed: Duration,
    /// The wall clock of the operator.
    pub wall: Timestamp,
}

/// Checks the disruption limit of one process. It must get every change: [`Disturbances::learn`] those of other
/// clients, [`Disturbances::check`] those of the process.
#[derive(Clone, Debug, Default)]
pub struct Disturbances {
    limit: Option<usize>,
    slots: BTreeMap<Key, Arc<Reservation>>,
    zones: BTreeMap<String, Zone>,
    changed: BTreeMap<String, Duration>,
}

#[derive(Clone, Debug, Default)]
struct Zone {
    slots: BTreeSet<Key>,
    /// The numbers of slots with their times, as a descending sequence: none was exceeded later.
    peaks: VecDeque<(Duration, usize)>,
    disturbed: BTreeMap<Key, Duration>,
}

impl Disturbances {
    /// `disruptionLimit.slots` of the configuration; without it 5 % of the slots of a zone, at least 20.
    pub fn new(limit: Option<usize>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Another client has changed something. Deletions by the operator that follow from it within a minute are not
    /// counted.
    pub fn learn(&mut self, snapshot: &Snapshot, touched: &Touched, now: Moment) {
        let elapsed = now.elapsed;
        self.changed.retain(|_, at| elapsed.saturating_sub(*at) < HEARD);
        self.changed.extend(touched.commitments.iter().map(|uuid| (uuid.clone(), elapsed)));
        touched.slots.iter().for_each(|key| drop(self.follow(snapshot, key, elapsed)));
    }

    /// The checked process has changed something. Returns the slots with which it has exceeded the limit. Nothing
    /// counts while a user has `confirmed`.
    pub fn check(&mut self, snapshot: &Snapshot, touched: &Touched, now: Moment, confirmed: bool) -> Vec<Violation> {
        let mut violations = Vec::new();
        for key in &touched.slots {
            let before = self.follow(snapshot, key, now.elapsed);
            let had_host = |slot: &Arc<Reservation>| slot.spec.target_host.is_some() && !on_its_way_out(slot);
            let Some(before) = before.filter(had_host).filter(|_| !confirmed) else { continue };
            if self.is_disturbed(snapshot, key, &before, now) {
                violations.extend(self.count(key, zone_of(&before), now.elapsed));
            }
        }
        violations
    }

    /// A process starts, or another one leads: its windows are empty.
    pub fn begins(&mut self) {
        self.zones.values_mut().for_each(|zone| zone.disturbed.clear());
    }

    fn follow(&mut self, snapshot: &Snapshot, key: &Key, now: Duration) -> Option<Arc<Reservation>> {
        let (before, after) = (self.slots.remove(key), snapshot.shared_slot(key).cloned());
        if let Some(slot) = &before {
            self.zones.entry(zone_of(slot).to_owned()).or_default().put(key, false, now);
        }
        if let Some(slot) = after {
            self.zones.entry(zone_of(&slot).to_owned()).or_default().put(key, true, now);
            self.slots.insert(key.clone(), slot);
        }
        before
    }

    /// Whether the slot had a host, and has none any more or is deleted.
    fn is_disturbed(&self, snapshot: &Snapshot, key: &Key, before: &Reservation, now: Moment) -> bool {
        if let Some(after) = snapshot.slot(key).filter(|slot| !on_its_way_out(slot)) {
            return after.spec.target_host.is_none();
        }
        let lately = self.changed.get(commitment_of(before));
        let heard = lately.is_none_or(|at| now.elapsed.saturating_sub(*at) >= HEARD);
        heard && !is_wished(snapshot, before, &Time(now.wall))
    }

    fn count(&mut self, key: &Key, name: &str, now: Duration) -> Option<Violation> {
        let zone = self.zones.entry(name.to_owned()).or_default();
        zone.disturbed.retain(|_, at| now.saturating_sub(*at) < WINDOW);
        zone.disturbed.insert(key.clone(), now);
        let (count, total) = (zone.disturbed.len(), zone.peak(now));
        let limit = self.limit.unwrap_or_else(|| (total / 20).max(20));
        let text = || {
            format!(
                "is one of {count} of {total} slots of zone {name} that were deleted or lost their host within 10 \
                 minutes although no user asked for it, and {limit} may be"
            )
        };
        (count > limit).then(|| Violation::new(Invariant::DisturbedTooMany, key, text()))
    }
}

impl Zone {
    fn put(&mut self, key: &Key, there: bool, now: Duration) {
        let before = self.slots.len();
        if there {
            self.slots.insert(key.clone());
        } else {
            self.slots.remove(key);
        }
        // The number until now may also be the peak.
        self.note(before, now);
        self.note(self.slots.len(), now);
    }

    fn note(&mut self, total: usize, now: Duration) {
        while self.peaks.back().is_some_and(|(_, smaller)| *smaller <= total) {
            self.peaks.pop_back();
        }
        self.peaks.push_back((now, total));
    }

    /// The highest recent number of slots, because the operator checks the disruption limit some time before it writes.
    fn peak(&mut self, now: Duration) -> usize {
        while self.peaks.len() > 1 && self.peaks.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= WINDOW) {
            self.peaks.pop_front();
        }
        self.peaks.front().map_or(0, |(_, total)| *total)
    }
}

/// Whether the annotation `reservations.cortex.cloud/confirm-disruption` currently switches the disruption limit off:
/// it is a time in the future, at most a day ahead.
pub fn confirms(value: &str, now: Timestamp) -> bool {
    let ahead = value.trim().parse::<Timestamp>().map(|until| until.duration_since(now));
    ahead.is_ok_and(|ahead| ahead.is_positive() && ahead <= FARTHEST)
}

fn zone_of(slot: &Reservation) -> &str {
    slot.spec.availability_zone.as_deref().unwrap_or_default()
}
