//! What people, hosts and other programs did, so that it is not held against us: how far they over-booked a host, and
//! what else they broke.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::{Hypervisor, labels};
use kube::ResourceExt;

use crate::{
    Key, Law, Snapshot, Touched, Violation,
    always::{always_touched, stands},
    amounts::RESOURCES,
    room::{Room, room},
};

/// What is excused. It is right after every change when [`Outside::learn`] is told of every change, and
/// [`Outside::excuse`] of those that somebody else made to an object of ours.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    hosts: BTreeMap<String, Known>,
    excused: BTreeSet<(Law, Key)>,
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
    /// What hosts did on their own. Where a host has lost room to others it may be over-booked by as much, and slots stay
    /// on a host whose zone was changed. What has been over-booked when a host is seen for the first time is excused;
    /// what has become free since may not be taken again.
    pub fn learn(&mut self, snapshot: &Snapshot, touched: &Touched) {
        for name in &touched.hosts {
            match snapshot.host(name) {
                Some((_, host)) => self.learn_host(snapshot, name, host),
                None => drop(self.hosts.remove(name)),
            }
        }
        self.excused.retain(|(law, object)| stands(snapshot, *law, object));
    }

    /// All that is broken where this change was is the doing of others: to be called after a change of a slot, of a
    /// finalizer or of whatever else is ours that a person made, instead of [`Outside::learn`].
    pub fn excuse(&mut self, snapshot: &Snapshot, touched: &Touched) {
        for name in &touched.hosts {
            self.hosts.remove(name);
        }
        self.learn(snapshot, touched);
        let broken = always_touched(snapshot, self, touched);
        self.excused.extend(broken.into_iter().map(|violation| (violation.law, violation.object)));
    }

    /// Whether somebody else broke this law here.
    pub(crate) fn excuses(&self, violation: &Violation) -> bool {
        self.excused.contains(&(violation.law, violation.object.clone()))
    }

    /// How much of [`RESOURCES`] may be too much on a host.
    pub(crate) fn allowed(&self, host: &str) -> [i128; 2] {
        self.hosts.get(host).map_or([0, 0], |known| known.allowed)
    }

    fn learn_host(&mut self, snapshot: &Snapshot, name: &str, host: &Hypervisor) {
        let known = self.hosts.get(name);
        let rooms = RESOURCES.map(|resource| room(snapshot, host, resource));
        let mut allowed = [0; 2];
        for (at, room) in rooms.iter().enumerate() {
            let before = known.and_then(|known| Some((known.rooms[at]?, known.allowed[at])));
            allowed[at] = room.map_or(0, |room| may_be_short(before, room));
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

/// What others took since, on top of what they had taken, but no more than what is too much now.
fn may_be_short(before: Option<(Room, i128)>, now: Room) -> i128 {
    match before {
        Some((room, allowed)) => {
            let taken = room.left_by_others() - now.left_by_others();
            now.short().min(allowed + taken.max(0))
        }
        None => now.short(),
    }
}
