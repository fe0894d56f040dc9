//! The invariants that hold after every committed write.

use std::collections::BTreeSet;

use berth_crds::Hypervisor;

use crate::amounts::{RESOURCES, format_amount};
use crate::changes::of_finished;
use crate::cores::oversold;
use crate::free_capacity::free_capacity;
use crate::published_info::misversioned;
use crate::slots::{of_slot, unprotected, wrong_zone};
use crate::snapshot::confirmed;
use crate::zones::of_zone;
use crate::{ExternalChanges, Invariant, Key, Snapshot, Touched, Violation};

/// Violations of the invariants that hold after every write, ascending, except those that external changes excuse. What
/// is to be seen only at a write is for [`always_touched`]: how a change has ended, and how the published info has changed.
pub fn always(snapshot: &Snapshot, outside: &ExternalChanges) -> Vec<Violation> {
    let commitments = snapshot.commitments.values().filter_map(|one| unprotected(snapshot, &one.spec.commitment_uuid));
    let slots = snapshot.slots().flat_map(|(key, slot)| of_slot(snapshot, key, slot));
    let hosts = snapshot.hosts.iter().filter_map(|(key, host)| overbooked(snapshot, outside, key, host));
    let cores = snapshot.places().filter_map(|place| oversold(snapshot, outside.allowed_cores(place), place));
    let zones = snapshot.zones_with_changes().flat_map(|zone| of_zone(snapshot, zone));
    sorted(commitments.chain(slots).chain(hosts).chain(cores).chain(zones), outside)
}

/// The part of [`always`] that a change can have broken: a change of a slot costs as much as its commitment and its hosts
/// have slots, however large the rest of the world is. The write that ends a change costs as much as the change has slots.
pub fn always_touched(snapshot: &Snapshot, outside: &ExternalChanges, touched: &Touched) -> Vec<Violation> {
    let commitments = touched.commitments.iter().filter_map(|uuid| unprotected(snapshot, uuid));
    let slots = slots_touched(snapshot, touched);
    let slots = slots.into_iter().filter_map(|key| snapshot.slot(key).map(|slot| of_slot(snapshot, key, slot)));
    let on_hosts = touched.hosts.iter().flat_map(|host| snapshot.reservations_on(host)).map(|(key, _)| key);
    let unknown_hosts = on_hosts.filter_map(|key| wrong_zone(snapshot, key, snapshot.slot(key)?));
    let hosts = touched.hosts.iter().filter_map(|name| snapshot.host(name));
    let hosts = hosts.filter_map(|(key, host)| overbooked(snapshot, outside, key, host));
    let cores = touched.places.iter().filter_map(|place| oversold(snapshot, outside.allowed_cores(place), place));
    let zones = touched.zones.iter().flat_map(|zone| of_zone(snapshot, zone));
    let changes = touched.finished.iter().flat_map(|key| of_finished(snapshot, outside, key));
    let info = touched.republished.iter().filter_map(misversioned);
    let slots = slots.flatten().chain(unknown_hosts);
    sorted(commitments.chain(slots).chain(hosts).chain(cores).chain(zones).chain(changes).chain(info), outside)
}

impl ExternalChanges {
    /// Excuses all violations at the objects of this change: to be called instead of [`ExternalChanges::learn`] after a
    /// user has changed a slot, a finalizer or another object of ours.
    pub fn excuse(&mut self, snapshot: &Snapshot, touched: &Touched) {
        self.learn_by_hand(snapshot, touched);
        let violations = always_touched(snapshot, self, touched);
        self.excuse_all(violations);
    }
}

fn sorted(violations: impl Iterator<Item = Violation>, outside: &ExternalChanges) -> Vec<Violation> {
    let mut all: Vec<_> = violations.filter(|violation| !outside.excuses(violation)).collect();
    all.sort();
    all.dedup();
    all
}

fn slots_touched<'a>(snapshot: &'a Snapshot, touched: &'a Touched) -> BTreeSet<&'a Key> {
    let siblings = touched.commitments.iter().flat_map(|uuid| snapshot.slots_of(uuid)).map(|(key, _)| key);
    let slots = touched.slots.iter().filter_map(|key| snapshot.slot(key));
    let vms: Vec<_> = slots.flat_map(confirmed).collect();
    let with_vms = vms.iter().flat_map(|vm| snapshot.slots_with(vm));
    touched.slots.iter().chain(siblings).chain(with_vms).collect()
}

pub(crate) fn overbooked(
    snapshot: &Snapshot,
    outside: &ExternalChanges,
    key: &Key,
    host: &Hypervisor,
) -> Option<Violation> {
    snapshot.host(&key.name)?;
    let allowed = outside.allowed(&key.name);
    let over: Vec<_> = RESOURCES
        .into_iter()
        .zip(allowed)
        .filter_map(|(resource, allowed)| {
            let free = free_capacity(snapshot, host, resource).filter(|free| free.short() > allowed)?;
            let [short, capacity, vms, blocked, allowed] =
                [free.short(), free.capacity, free.vms, free.blocked, allowed]
                    .map(|amount| format_amount(amount, resource));
            Some(format!(
                "{short} too much: it has {capacity}, VMs use {vms}, reservations block {blocked}, others \
                          over-booked it by {allowed}"
            ))
        })
        .collect();
    let text = || format!("is over-booked: {}", over.join("; "));
    (!over.is_empty()).then(|| Violation::new(Invariant::HostOverbooked, key, text()))
}
