//! Checks promises: whether a host would be over-booked if all answered placements happened at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_crds::hypervisor::Instance;
use berth_crds::{Allocation, Hypervisor, Quantity, Reservation, ReservationSpec, Time};
use jiff::Timestamp;

use crate::always::overbooked;
use crate::amounts::{RESOURCES, used};
use crate::snapshot::in_force_on;
use crate::{ExternalChanges, Key, Snapshot, Violation};

/// Amounts by the name of the resource, as objects have them.
type Amounts = BTreeMap<String, Quantity>;

/// Capacity on a host that was promised in an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Promise {
    /// A slot, which may not exist yet, on the host.
    Slot {
        key: Key,
        host: String,
        size: Amounts,
        /// The VMs that its write makes it expect, each with its size.
        vms: BTreeMap<String, Amounts>,
    },
    Vm {
        id: String,
        host: String,
        size: Amounts,
        slot: Option<Key>,
    },
}

/// All promises of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Promises {
    pub given: Vec<Promise>,
    /// Slots that are released first: they do not count any more.
    pub released: Vec<Key>,
    /// Slots that shrink first, with their new sizes.
    pub shrunk: Vec<(Key, Amounts)>,
}

/// The hosts that would be over-booked if all promises came true at once, except where other clients have caused it.
pub fn overpromised(snapshot: &Snapshot, outside: &ExternalChanges, promises: &Promises) -> Vec<Violation> {
    let future = promises.kept(snapshot);
    let hosts = promises.given.iter().map(|promise| match promise {
        Promise::Slot { host, .. } | Promise::Vm { host, .. } => host,
    });
    let known = hosts.filter_map(|name| future.host(name));
    let mut violations: Vec<_> = known.filter_map(|(key, host)| overbooked(&future, outside, key, host)).collect();
    violations.retain(|violation| !outside.excuses(violation));
    violations.sort();
    violations.dedup();
    violations
}

impl Promises {
    /// The objects after all of it has happened.
    fn kept(&self, snapshot: &Snapshot) -> Snapshot {
        let mut future = snapshot.clone();
        for key in &self.released {
            future.reservation(key, None);
        }
        for (key, size) in &self.shrunk {
            edit(&mut future, key, |slot| slot.spec.resources.clone_from(size));
        }
        for promise in &self.given {
            match promise {
                Promise::Slot { key, host, size, vms } => {
                    stand(&mut future, key, host, size);
                    if !vms.is_empty() {
                        edit(&mut future, key, |slot| {
                            slot.spec.committed_resource_reservation.get_or_insert_default();
                            for (id, size) in vms {
                                expect(slot, id, host, size);
                            }
                        });
                    }
                }
                Promise::Vm { id, host, size, slot } => {
                    run(&mut future, id, host, size);
                    let expects = |slot: &mut Reservation| expect(slot, id, host, size);
                    if let Some(key) = slot {
                        edit(&mut future, key, expects);
                    }
                }
            }
        }
        future
    }
}

fn edit(future: &mut Snapshot, key: &Key, edit: impl Fn(&mut Reservation)) {
    if let Some(mut slot) = future.shared_slot(key).cloned() {
        edit(Arc::make_mut(&mut slot));
        future.reservation(key, Some(&slot));
    }
}

/// A slot that stays on its host does not shrink.
fn stand(future: &mut Snapshot, key: &Key, host: &str, size: &Amounts) {
    let new = || Arc::new(Reservation::new(&key.name, ReservationSpec::default()));
    let mut slot = future.shared_slot(key).cloned().unwrap_or_else(new);
    let is_here = slot.spec.target_host.as_deref() == Some(host) || in_force_on(&slot) == Some(host);
    let object = Arc::make_mut(&mut slot);
    let larger = |resource: &str| used(size, resource).max(used(&object.spec.resources, resource));
    object.spec.resources = if is_here { amounts(larger) } else { size.clone() };
    object.spec.target_host = Some(host.to_owned());
    future.reservation(key, Some(&slot));
}

/// A VM that the host lists is counted already.
fn run(future: &mut Snapshot, id: &str, host: &str, size: &Amounts) {
    let Some((key, object)) = future.host(host) else { return };
    let (key, mut object) = (key.clone(), Hypervisor::clone(object));
    let status = object.status.get_or_insert_default();
    if status.instances.iter().all(|vm| vm.id != id) {
        status.instances.push(Instance { id: id.to_owned(), name: id.to_owned(), active: true });
        status.allocation = amounts(|resource| used(&status.allocation, resource) + used(size, resource));
        future.hypervisor(&key, Some(&Arc::new(object)));
    }
}

fn expect(slot: &mut Reservation, id: &str, host: &str, size: &Amounts) {
    let data = slot.spec.committed_resource_reservation.as_mut();
    if let Some(data) = data.filter(|_| slot.spec.target_host.as_deref() == Some(host)) {
        let allocation = Allocation { creation_timestamp: Time(Timestamp::UNIX_EPOCH), resources: size.clone() };
        data.allocations.entry(id.to_owned()).or_insert(allocation);
    }
}

fn amounts(of: impl Fn(&str) -> i128) -> Amounts {
    RESOURCES.map(|resource| (resource.to_owned(), of(resource).to_string().into())).into()
}
