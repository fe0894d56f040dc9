//! The brake, judged from outside: how many slots of a zone were deleted with a host, or lost it, within ten minutes
//! without anybody having wished it. It counts what was written, and decides whether that is more than may be; who
//! wrote it, and that a person has confirmed, it is told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use berth_crds::{Reservation, Time};
use jiff::{SignedDuration, Timestamp};

use super::wish::is_wished;
use crate::slots::on_its_way_out;
use crate::snapshot::commitment_of;
use crate::{Key, Law, Snapshot, Touched, Violation};

/// How long a disturbance counts: ten minutes, less a minute in which something that was allowed may still be written.
const WINDOW: Duration = Duration::from_secs(540);

/// So long after a commitment was changed an operator may still act upon what it wished before.
const HEARD: Duration = Duration::from_secs(60);

/// How far ahead a person may confirm.
const FARTHEST: SignedDuration = SignedDuration::from_hours(24);

/// A moment, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// A reading of the monotonic clock.
    pub elapsed: Duration,
    /// What the wall clock of the operator shows.
    pub wall: Timestamp,
}

/// Watches over the brake of one process. It has to be told of every change: [`Disturbances::learn`] of those that
/// others made, [`Disturbances::judge`] of those of the process.
#[derive(Clone, Debug, Default)]
pub struct Disturbances {
    limit: Option<usize>,
    slots: BTreeMap<Key, Arc<Reservation>>,
    zones: BTreeMap<String, Zone>,
    /// When others changed something about a commitment.
    changed: BTreeMap<String, Duration>,
}

#[derive(Clone, Debug, Default)]
struct Zone {
    slots: BTreeSet<Key>,
    /// The numbers of slots that were not exceeded after them, descending, with when that was.
    peaks: VecDeque<(Duration, usize)>,
    disturbed: BTreeMap<Key, Duration>,
}

impl Disturbances {
    /// `brake.slots` of the configuration; without it 5 % of the slots of a zone, at least 20.
    pub fn new(limit: Option<usize>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Somebody else has changed something. What that makes an operator delete in the next minute is not held against it.
    pub fn learn(&mut self, snapshot: &Snapshot, touched: &Touched, now: Moment) {
        let elapsed = now.elapsed;
        self.changed.retain(|_, at| elapsed.saturating_sub(*at) < HEARD);
        self.changed.extend(touched.commitments.iter().map(|uuid| (uuid.clone(), elapsed)));
        touched.slots.iter().for_each(|key| drop(self.follow(snapshot, key, elapsed)));
    }

    /// The process that is judged has changed something: the slots with which it has disturbed more than it may. Nothing
    /// counts while a person has `confirmed`.
    pub fn judge(&mut self, snapshot: &Snapshot, touched: &Touched, now: Moment, confirmed: bool) -> Vec<Violation> {
        let mut broken = Vec::new();
        for key in &touched.slots {
            let before = self.follow(snapshot, key, now.elapsed);
            let had_host = |slot: &Arc<Reservation>| slot.spec.target_host.is_some() && !on_its_way_out(slot);
            let Some(before) = before.filter(had_host).filter(|_| !confirmed) else { continue };
            if self.is_disturbed(snapshot, key, &before, now) {
                broken.extend(self.count(key, zone_of(&before), now.elapsed));
            }
        }
        broken
    }

    /// A process begins, or another one leads: its windows are empty.
    pub fn begins(&mut self) {
        self.zones.values_mut().for_each(|zone| zone.disturbed.clear());
    }

    /// The slot as it was before.
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

    /// It had a host, and has none any more or is deleted.
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
                 minutes without anybody having wished it, and {limit} may be"
            )
        };
        (count > limit).then(|| Violation::new(Law::DisturbedTooMany, key, text()))
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
        // What was there until now is a peak as well.
        self.note(before, now);
        self.note(self.slots.len(), now);
    }

    fn note(&mut self, total: usize, now: Duration) {
        while self.peaks.back().is_some_and(|(_, smaller)| *smaller <= total) {
            self.peaks.pop_back();
        }
        self.peaks.push_back((now, total));
    }

    /// The most slots that there were lately: whoever asked the brake did so a while before it wrote.
    fn peak(&mut self, now: Duration) -> usize {
        while self.peaks.len() > 1 && self.peaks.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= WINDOW) {
            self.peaks.pop_front();
        }
        self.peaks.front().map_or(0, |(_, total)| *total)
    }
}

/// Whether the annotation `reservations.cortex.cloud/confirm-disruption` switches the brake off at the moment: it is a
/// time, not over and at most a day ahead.
pub fn confirms(value: &str, now: Timestamp) -> bool {
    let ahead = value.trim().parse::<Timestamp>().map(|until| until.duration_since(now));
    ahead.is_ok_and(|ahead| ahead.is_positive() && ahead <= FARTHEST)
}

fn zone_of(slot: &Reservation) -> &str {
    slot.spec.availability_zone.as_deref().unwrap_or_default()
}
