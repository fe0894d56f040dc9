//! What people, hosts and other programs did, so that it is not held against us: how far they over-booked a host, and
//! what else they broke.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::{Hypervisor, labels};
use kube::ResourceExt;

mod cores;

use crate::amounts::RESOURCES;
use crate::room::{Room, room};
use crate::slots::stands;
use crate::snapshot::Place;
use crate::{Key, Law, Snapshot, Touched, Violation};

/// What is excused. It is right after every change when [`Outside::learn`] is told of every change, and
/// [`Outside::excuse`] of those that somebody else made to an object of ours.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    hosts: BTreeMap<String, Known>,
    excused: BTreeSet<(Law, Key)>,
    cores: cores::Cores,
    /// Whoever is judged hears late of what others do.
    late: bool,
}

/// A host as it was seen last.
#[derive(Clone, Debug)]
struct Known {
    rooms: [Option<Room>; 2],
    /// How much may be too much of each resource.
    allowed: [i128; 2],
    zone: Option<String>,
}

impl Outside {
    /// For judging somebody who hears late of what others do, as every operator does: room that others have taken may be
    /// given out once more until [`Outside::heard`].
    pub fn late() -> Self {
        Self { late: true, ..Self::default() }
    }

    /// By now everybody has heard of everything: what is too much stays excused, more is not.
    pub fn heard(&mut self) {
        self.cores.heard();
        for Known { rooms, allowed, .. } in self.hosts.values_mut() {
            for (room, allowed) in rooms.iter().zip(allowed) {
                *allowed = room.map_or(0, |room| room.short().min(*allowed));
            }
        }
    }

    /// What hosts and capacity objects did on their own. Where a host has lost room to others it may be over-booked by as much, and slots stay
    /// on a host whose zone was changed. What has been over-booked when a host is seen for the first time is excused;
    /// what has become free since may not be taken again.
    pub fn learn(&mut self, snapshot: &Snapshot, touched: &Touched) {
        self.learn_all(snapshot, touched, false);
    }

    fn learn_all(&mut self, snapshot: &Snapshot, touched: &Touched, by_hand: bool) {
        touched.places.iter().for_each(|place| self.cores.learn(snapshot, place, self.late, by_hand));
        for name in &touched.hosts {
            match snapshot.host(name) {
                Some((_, host)) => self.learn_host(snapshot, name, host),
                None => drop(self.hosts.remove(name)),
            }
        }
        self.excused.retain(|(law, object)| stands(snapshot, *law, object));
    }

    /// What a person changed, besides what is broken by it.
    pub(crate) fn learn_by_hand(&mut self, snapshot: &Snapshot, touched: &Touched) {
        for name in &touched.hosts {
            if self.late {
                self.learn_of_hand(snapshot, name);
            } else {
                self.hosts.remove(name);
            }
        }
        self.learn_all(snapshot, touched, true);
    }

    /// These violations are the doing of others.
    pub(crate) fn excuse_all(&mut self, violations: Vec<Violation>) {
        self.excused.extend(violations.into_iter().map(|violation| (violation.law, violation.object)));
    }

    /// Whether somebody else broke this law here.
    pub(crate) fn excuses(&self, violation: &Violation) -> bool {
        self.excused.contains(&(violation.law, violation.object.clone()))
    }

    /// How much of [`RESOURCES`] may be too much on a host.
    pub(crate) fn allowed(&self, host: &str) -> [i128; 2] {
        self.hosts.get(host).map_or([0, 0], |known| known.allowed)
    }

    /// How many cores may be too many in a place.
    pub(crate) fn allowed_cores(&self, place: &Place) -> i128 {
        self.cores.allowed(place)
    }

    /// A person put slots on a host, or made them larger.
    fn learn_of_hand(&mut self, snapshot: &Snapshot, name: &str) {
        let (Some(known), Some((_, host))) = (self.hosts.get_mut(name), snapshot.host(name)) else { return };
        for (at, resource) in RESOURCES.into_iter().enumerate() {
            let slots = |room: Option<Room>| room.map_or(0, |room| room.slots);
            let put = slots(room(snapshot, host, resource)) - slots(known.rooms[at]);
            known.allowed[at] += put.max(0);
        }
    }

    fn learn_host(&mut self, snapshot: &Snapshot, name: &str, host: &Hypervisor) {
        let known = self.hosts.get(name);
        let rooms = RESOURCES.map(|resource| room(snapshot, host, resource));
        let mut allowed = [0; 2];
        for (at, room) in rooms.iter().enumerate() {
            let before = known.and_then(|known| Some((known.rooms[at]?, known.allowed[at])));
            allowed[at] = room.map_or(0, |room| may_be_short(before, room, self.late));
        }
        let zone = host.labels().get(labels::ZONE).cloned();
        if known.is_none_or(|known| known.zone != zone) {
            let slots = snapshot.reservations_on(name).map(|(key, _)| key);
            let strangers = slots.filter(|key| stands(snapshot, Law::SlotInWrongZone, key));
            self.excused.extend(strangers.map(|key| (Law::SlotInWrongZone, key.clone())));
        }
        self.hosts.insert(name.to_owned(), Known { rooms, allowed, zone });
    }
}

/// What others took since, on top of what they had taken; for somebody who knows of it no more than what is too much now.
/// What is there when a host is seen first, others have put there.
fn may_be_short(before: Option<(Room, i128)>, now: Room, late: bool) -> i128 {
    match before {
        Some((room, allowed)) => {
            let taken = allowed + (room.left_by_others() - now.left_by_others()).max(0);
            if late { taken } else { now.short().min(taken) }
        }
        None if late => now.short() + now.slots,
        None => now.short(),
    }
}
