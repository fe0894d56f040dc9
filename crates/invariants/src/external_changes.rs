//! Excuses violations that users, hosts or other programs caused, such as a host that shrank under its reservations.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::{Hypervisor, labels};
use kube::ResourceExt;

mod changes;
mod cores;

use crate::amounts::RESOURCES;
use crate::free_capacity::{FreeCapacity, free_capacity};
use crate::slots::stands;
use crate::snapshot::GroupAndZone;
use crate::{Invariant, Key, Snapshot, Touched, Violation};

/// The excused violations. They are up to date if [`ExternalChanges::learn`] gets every change, and
/// [`ExternalChanges::excuse`] those changes that other clients made to our objects.
#[derive(Clone, Debug, Default)]
pub struct ExternalChanges {
    hosts: BTreeMap<String, ObservedHost>,
    excused: BTreeSet<(Invariant, Key)>,
    cores: cores::Cores,
    changes: changes::OpenChanges,
    /// The operator under test learns late of external changes.
    late: bool,
}

/// A host as it was seen last.
#[derive(Clone, Debug)]
struct ObservedHost {
    free: [Option<FreeCapacity>; 2],
    /// How much may be too much of each resource.
    allowed: [i128; 2],
    zone: Option<String>,
}

impl ExternalChanges {
    /// For checking an operator that observes external changes with a delay, as every operator does: it may give out
    /// free capacity that others have taken until [`ExternalChanges::heard`].
    pub fn late() -> Self {
        Self { late: true, ..Self::default() }
    }

    /// By now all external changes were observed: what is too much stays excused, more is not.
    pub fn heard(&mut self) {
        self.cores.heard();
        for ObservedHost { free, allowed, .. } in self.hosts.values_mut() {
            for (free, allowed) in free.iter().zip(allowed) {
                *allowed = free.map_or(0, |free| free.short().min(*allowed));
            }
        }
    }

    /// Records changes of hosts and capacity objects. A host that has lost free capacity to others may be over-booked
    /// by as much, and slots may stay on a host whose zone was changed. Over-booking at the time when a host is first
    /// seen is excused; capacity that has become free since may not be taken again.
    pub fn learn(&mut self, snapshot: &Snapshot, touched: &Touched) {
        self.learn_all(snapshot, touched, false);
    }

    fn learn_all(&mut self, snapshot: &Snapshot, touched: &Touched, by_hand: bool) {
        self.changes.learn(snapshot, touched);
        touched.places.iter().for_each(|place| self.cores.learn(snapshot, place, self.late, by_hand));
        for name in &touched.hosts {
            if let Some((_, host)) = snapshot.host(name) {
                self.learn_host(snapshot, name, host);
            } else {
                self.changes.lost(name);
                self.hosts.remove(name);
            }
        }
        self.excused.retain(|(invariant, object)| stands(snapshot, *invariant, object));
    }

    /// Records a change by a user, besides the violations that it causes.
    pub(crate) fn learn_by_hand(&mut self, snapshot: &Snapshot, touched: &Touched) {
        self.changes.edited(snapshot, touched);
        for name in &touched.hosts {
            if self.late {
                self.learn_of_hand(snapshot, name);
            } else {
                self.hosts.remove(name);
            }
        }
        self.learn_all(snapshot, touched, true);
    }

    pub(crate) fn excuse_all(&mut self, violations: Vec<Violation>) {
        self.excused.extend(violations.into_iter().map(|violation| (violation.invariant, violation.object)));
    }

    pub(crate) fn excuses(&self, violation: &Violation) -> bool {
        self.excused.contains(&(violation.invariant, violation.object.clone()))
    }

    /// How much of [`RESOURCES`] may be too much on a host.
    pub(crate) fn allowed(&self, host: &str) -> [i128; 2] {
        self.hosts.get(host).map_or([0, 0], |known| known.allowed)
    }

    /// How many cores may be too many in a place.
    pub(crate) fn allowed_cores(&self, place: &GroupAndZone) -> i128 {
        self.cores.allowed(place)
    }

    /// Whether somebody else has edited the commitment while the change was open.
    pub(crate) fn edited_in(&self, change: &Key, uuid: &str) -> bool {
        self.changes.edited_in(change, uuid)
    }

    /// Whether the host has lost capacity to others while the change was open.
    pub(crate) fn lost_in(&self, change: &Key, host: &str) -> bool {
        self.changes.lost_in(change, host)
    }

    /// A user put slots on a host, or enlarged them.
    fn learn_of_hand(&mut self, snapshot: &Snapshot, name: &str) {
        let (Some(known), Some((_, host))) = (self.hosts.get_mut(name), snapshot.host(name)) else { return };
        for (at, resource) in RESOURCES.into_iter().enumerate() {
            let slots = |free: Option<FreeCapacity>| free.map_or(0, |free| free.slots);
            let put = slots(free_capacity(snapshot, host, resource)) - slots(known.free[at]);
            known.allowed[at] += put.max(0);
        }
    }

    fn learn_host(&mut self, snapshot: &Snapshot, name: &str, host: &Hypervisor) {
        let known = self.hosts.get(name);
        let free = RESOURCES.map(|resource| free_capacity(snapshot, host, resource));
        let mut allowed = [0; 2];
        for (at, free) in free.iter().enumerate() {
            let before = known.and_then(|known| Some((known.free[at]?, known.allowed[at])));
            allowed[at] = free.map_or(0, |free| may_be_short(before, free, self.late));
            if before.zip(*free).is_some_and(|((before, _), now)| now.left_by_others() < before.left_by_others()) {
                self.changes.lost(name);
            }
        }
        let zone = host.labels().get(labels::ZONE).cloned();
        if known.is_none_or(|known| known.zone != zone) {
            let slots = snapshot.reservations_on(name).map(|(key, _)| key);
            let unknown_hosts = slots.filter(|key| stands(snapshot, Invariant::SlotInWrongZone, key));
            self.excused.extend(unknown_hosts.map(|key| (Invariant::SlotInWrongZone, key.clone())));
        }
        self.hosts.insert(name.to_owned(), ObservedHost { free, allowed, zone });
    }
}

/// The excess that others have caused since, in addition to what they had caused; once it was observed, no more than
/// the present excess. The state in which a host is first seen counts as caused by others.
fn may_be_short(before: Option<(FreeCapacity, i128)>, now: FreeCapacity, late: bool) -> i128 {
    match before {
        Some((free, allowed)) => {
            let taken = allowed + (free.left_by_others() - now.left_by_others()).max(0);
            if late { taken } else { now.short().min(taken) }
        }
        None if late => now.short() + now.slots,
        None => now.short(),
    }
}
