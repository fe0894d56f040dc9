//! The objects that are checked, by name and by their relations.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{
    CommitmentChange, CommittedResource, CommittedResourceSpec, FlavorGroupCapacity, Hypervisor, Reservation,
    ReservationType, ResourceType, conditions, facts, names,
};
use kube::ResourceExt;

use crate::Key;
use crate::published_info::{PublishedInfo, Republished};

/// Whether no other change of the zone may begin.
fn is_under_way(change: &CommitmentChange) -> bool {
    let phases = [ChangePhase::Pending, ChangePhase::Applying, ChangePhase::RollingBack];
    phases.contains(&change.phase()) && facts::is_open(change)
}

/// A flavor group in a zone.
pub(crate) type GroupAndZone = (String, String);

pub(crate) fn group_and_zone(spec: &CommittedResourceSpec) -> GroupAndZone {
    (spec.flavor_group_name.clone(), spec.availability_zone.clone())
}

/// The spec with which an object was accepted, when that is one of cores.
pub(crate) fn accepted_cores(object: &CommittedResource) -> Option<&CommittedResourceSpec> {
    let accepted = object.status.as_ref()?.accepted_spec.as_ref()?;
    (accepted.resource_type == ResourceType::Cores).then_some(accepted)
}

/// All objects of an instant, each shared with its other holders. To put or to remove one costs O(log n), so a snapshot
/// can follow a log of writes.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(crate) commitments: BTreeMap<Key, Arc<CommittedResource>>,
    pub(crate) reservations: BTreeMap<Key, Arc<Reservation>>,
    pub(crate) hosts: BTreeMap<Key, Arc<Hypervisor>>,
    pub(crate) changes: BTreeMap<Key, Arc<CommitmentChange>>,
    capacities: BTreeMap<Key, Arc<FlavorGroupCapacity>>,
    published: BTreeMap<Key, PublishedInfo>,
    /// Changes of a zone that are under way.
    changes_in: Index<String>,
    open_changes: BTreeSet<Key>,
    capacities_of: Index<GroupAndZone>,
    accepted_in: Index<GroupAndZone>,
    commitments_of: Index<String>,
    slots_of: Index<String>,
    reservations_on: Index<String>,
    hosts_by_name: Index<String>,
    slots_by_name: Index<String>,
    /// VM and host of the VMs that the status of a slot confirms.
    slots_with: Index<(String, String)>,
}

/// The keys that a change of one object concerns, before it and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    pub(crate) commitments: BTreeSet<String>,
    pub(crate) hosts: BTreeSet<String>,
    pub(crate) slots: BTreeSet<Key>,
    pub(crate) places: BTreeSet<GroupAndZone>,
    pub(crate) zones: BTreeSet<String>,
    /// Changes that were open before.
    pub(crate) finished: BTreeSet<Key>,
    pub(crate) republished: Option<Republished>,
}

impl Snapshot {
    /// A snapshot of these objects, each with the name of its cluster.
    pub fn of(
        commitments: impl IntoIterator<Item = (ClusterName, Arc<CommittedResource>)>,
        reservations: impl IntoIterator<Item = (ClusterName, Arc<Reservation>)>,
        hosts: impl IntoIterator<Item = (ClusterName, Arc<Hypervisor>)>,
    ) -> Self {
        let mut snapshot = Self::default();
        for (cluster, object) in commitments {
            snapshot.commitment(&key(&cluster, &*object), Some(&object));
        }
        for (cluster, object) in reservations {
            snapshot.reservation(&key(&cluster, &*object), Some(&object));
        }
        for (cluster, object) in hosts {
            snapshot.hypervisor(&key(&cluster, &*object), Some(&object));
        }
        snapshot
    }

    #[must_use]
    pub fn with_capacities(
        mut self,
        capacities: impl IntoIterator<Item = (ClusterName, Arc<FlavorGroupCapacity>)>,
    ) -> Self {
        for (cluster, object) in capacities {
            self.capacity(&key(&cluster, &*object), Some(&object));
        }
        self
    }

    #[must_use]
    pub fn with_changes(mut self, changes: impl IntoIterator<Item = (ClusterName, Arc<CommitmentChange>)>) -> Self {
        for (cluster, object) in changes {
            self.change(&key(&cluster, &*object), Some(&object));
        }
        self
    }

    /// A commitment is there, or is gone when there is no object.
    pub fn commitment(&mut self, key: &Key, object: Option<&Arc<CommittedResource>>) -> Touched {
        let old = exchange(&mut self.commitments, key, object);
        self.commitments_of.follow(key, old.iter().map(|c| uuid(c)), object.iter().map(|c| uuid(c)));
        let accepted = |object: Option<&Arc<CommittedResource>>| Some(group_and_zone(accepted_cores(object?)?));
        let (was, is) = (accepted(old.as_ref()), accepted(object));
        self.accepted_in.follow(key, was.clone(), is);
        let commitments: BTreeSet<_> = old.iter().chain(object).map(|c| uuid(c)).collect();
        // Which of several objects with a UUID is served, and so counts, may have changed with any of them.
        let same = commitments.iter().flat_map(|uuid| self.commitments_of(uuid));
        let places = same.filter_map(|(_, object)| Some(group_and_zone(accepted_cores(object)?))).chain(was).collect();
        Touched { commitments, places, ..Touched::default() }
    }

    /// A Reservation is there, or is gone when there is no object.
    pub fn reservation(&mut self, key: &Key, object: Option<&Arc<Reservation>>) -> Touched {
        let old = exchange(&mut self.reservations, key, object);
        let (was, is) = (old.as_deref(), object.map(|object| &**object));
        let own = |slot: Option<&Reservation>| slot.filter(|slot| is_slot(slot)).map(commitment_of).map(str::to_owned);
        self.slots_of.follow(key, own(was), own(is));
        self.reservations_on.follow(key, was.iter().flat_map(|r| hosts_of(r)), is.iter().flat_map(|r| hosts_of(r)));
        let name = |slot: Option<&Reservation>| slot.filter(|slot| is_slot(slot)).map(|_| key.name.to_string());
        self.slots_by_name.follow(key, name(was), name(is));
        self.slots_with.follow(key, was.iter().flat_map(|r| confirmed(r)), is.iter().flat_map(|r| confirmed(r)));
        let hosts = was.iter().chain(&is).flat_map(|r| hosts_of(r)).collect();
        let commitments = own(was).into_iter().chain(own(is)).collect();
        Touched { commitments, hosts, slots: [key.clone()].into(), ..Touched::default() }
    }

    /// A host is there, or is gone when there is no object.
    pub fn hypervisor(&mut self, key: &Key, object: Option<&Arc<Hypervisor>>) -> Touched {
        let old = exchange(&mut self.hosts, key, object);
        let name = key.name.to_string();
        self.hosts_by_name.follow(key, old.map(|_| name.clone()), object.map(|_| name.clone()));
        Touched { hosts: [name].into(), ..Touched::default() }
    }

    /// A FlavorGroupCapacity is there, or is gone when there is no object.
    pub fn capacity(&mut self, key: &Key, object: Option<&Arc<FlavorGroupCapacity>>) -> Touched {
        let old = exchange(&mut self.capacities, key, object);
        let about = |object: &Arc<FlavorGroupCapacity>| {
            (object.spec.flavor_group.clone(), object.spec.availability_zone.clone())
        };
        self.capacities_of.follow(key, old.iter().map(about), object.iter().copied().map(about));
        Touched { places: old.iter().chain(object).map(about).collect(), ..Touched::default() }
    }

    /// A CommitmentChange is there, or is gone when there is no object.
    pub fn change(&mut self, key: &Key, object: Option<&Arc<CommitmentChange>>) -> Touched {
        let old = exchange(&mut self.changes, key, object);
        let zone = |change: &Arc<CommitmentChange>| {
            Some(change.spec.availability_zone.clone()).filter(|_| is_under_way(change))
        };
        self.changes_in.follow(key, old.as_ref().and_then(zone), object.and_then(zone));
        let (was_open, is_open) = (self.open_changes.remove(key), object.is_some_and(|one| facts::is_open(one)));
        if is_open {
            self.open_changes.insert(key.clone());
        }
        let finished = object.filter(|_| was_open && !is_open).map(|_| key.clone());
        let zones = old.iter().chain(object).map(|change| change.spec.availability_zone.clone()).collect();
        Touched { zones, finished: finished.into_iter().collect(), ..Touched::default() }
    }

    /// This info is published in a `ConfigMap`, or no info that can be read.
    pub fn published(&mut self, key: &Key, info: Option<PublishedInfo>) -> Touched {
        let before = match &info {
            Some(info) => self.published.insert(key.clone(), info.clone()),
            None => self.published.remove(key),
        };
        let republished = before.zip(info).map(|(before, after)| Republished { key: key.clone(), before, after });
        Touched { republished, ..Touched::default() }
    }

    pub fn everything(&self) -> Touched {
        Touched {
            commitments: self.commitments.values().map(|object| uuid(object)).collect(),
            hosts: self.hosts.keys().map(|key| key.name.to_string()).collect(),
            slots: self.slots().map(|(key, _)| key.clone()).collect(),
            places: self.places().chain(self.accepted_in.values()).cloned().collect(),
            zones: self.zones_with_changes().cloned().collect(),
            ..Touched::default()
        }
    }

    /// What the objects say of each flavor group and zone.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn capacities(&self) -> impl Iterator<Item = (&Key, &FlavorGroupCapacity)> {
        self.capacities.iter().map(|(key, object)| (key, &**object))
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = (&Key, &Reservation)> {
        self.reservations.iter().filter(|(_, one)| is_slot(one)).map(|(key, one)| (key, &**one))
    }

    pub(crate) fn slot(&self, key: &Key) -> Option<&Reservation> {
        self.shared_slot(key).map(|one| &**one)
    }

    /// The same, as its holder has it.
    pub(crate) fn shared_slot(&self, key: &Key) -> Option<&Arc<Reservation>> {
        self.reservations.get(key).filter(|one| is_slot(one))
    }

    pub(crate) fn slots_of(&self, uuid: &str) -> impl Iterator<Item = (&Key, &Reservation)> {
        self.slots_of.select(uuid).filter_map(|key| Some((key, self.slot(key)?)))
    }

    /// The slots that a served commitment answers for: not those in another cluster where another object has its UUID,
    /// which are left there until a user deletes that object.
    pub(crate) fn slots_held<'a>(
        &'a self,
        key: &'a Key,
        uuid: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Reservation)> {
        let elsewhere =
            self.commitments_of(uuid).map(|(other, _)| &other.cluster).filter(|cluster| **cluster != key.cluster);
        let left: BTreeSet<_> = elsewhere.collect();
        self.slots_of(uuid).filter(move |(slot, _)| !left.contains(&slot.cluster))
    }

    /// The slots of this name, one for each cluster.
    pub(crate) fn slots_named(&self, name: &str) -> impl Iterator<Item = &Key> {
        self.slots_by_name.select(name)
    }

    /// The slots that confirm this VM on this host.
    pub(crate) fn slots_with(&self, vm_on_host: &(String, String)) -> impl Iterator<Item = &Key> {
        self.slots_with.select(vm_on_host)
    }

    /// The Reservations of all types that block something on a host.
    pub(crate) fn reservations_on(&self, host: &str) -> impl Iterator<Item = (&Key, &Reservation)> {
        self.reservations_on.select(host).filter_map(|key| Some((key, &**self.reservations.get(key)?)))
    }

    /// The changes of a zone that are under way.
    pub(crate) fn changes_in(&self, zone: &str) -> impl Iterator<Item = &Key> {
        self.changes_in.select(zone)
    }

    /// The zones of changes that are under way.
    pub(crate) fn zones_with_changes(&self) -> impl Iterator<Item = &String> {
        self.changes_in.values()
    }

    pub(crate) fn open_changes(&self) -> impl Iterator<Item = (&Key, &CommitmentChange)> {
        self.open_changes.iter().filter_map(|key| Some((key, &**self.changes.get(key)?)))
    }

    /// Where the total of cores is known.
    pub(crate) fn places(&self) -> impl Iterator<Item = &GroupAndZone> {
        self.capacities_of.values()
    }

    /// The objects with the number of cores of a place.
    pub(crate) fn capacities_of(&self, place: &GroupAndZone) -> impl Iterator<Item = (&Key, &FlavorGroupCapacity)> {
        self.capacities_of.select(place).filter_map(|key| Some((key, &**self.capacities.get(key)?)))
    }

    /// The commitments that were accepted with cores of a place, served or not.
    pub(crate) fn accepted_in(&self, place: &GroupAndZone) -> impl Iterator<Item = (&Key, &CommittedResource)> {
        self.accepted_in.select(place).filter_map(|key| Some((key, &**self.commitments.get(key)?)))
    }

    /// The host of this name. Two of one name in two clusters are none, because it is unknown which one is meant.
    pub(crate) fn host(&self, name: &str) -> Option<(&Key, &Hypervisor)> {
        let mut keys = self.hosts_by_name.select(name);
        let key = keys.next().filter(|_| keys.next().is_none())?;
        Some((key, self.hosts.get(key)?))
    }

    /// Whether a host of this name is there, in whatever cluster.
    pub(crate) fn has_host(&self, name: &str) -> bool {
        self.hosts_by_name.select(name).next().is_some()
    }

    pub(crate) fn commitments_of(&self, uuid: &str) -> impl Iterator<Item = (&Key, &CommittedResource)> {
        self.commitments_of.select(uuid).filter_map(|key| Some((key, &**self.commitments.get(key)?)))
    }

    /// The objects that are served for a UUID: in a cluster that with the canonical name, else the first by name. Which
    /// of two clusters it is depends on the routing of the zone, so of those the objects without `DuplicateUUID` count.
    /// Exactly one is correct.
    pub(crate) fn served(&self, uuid: &str) -> Vec<(&Key, &CommittedResource)> {
        let canonical = names::commitment(uuid);
        let mut first: Vec<(&Key, &CommittedResource)> = Vec::new();
        for (key, object) in self.commitments_of(uuid) {
            match first.last_mut().filter(|(other, _)| other.cluster == key.cluster) {
                Some(other) if *key.name == *canonical => *other = (key, object),
                Some(_) => {}
                None => first.push((key, object)),
            }
        }
        if first.len() > 1 {
            first.retain(|(_, object)| !is_reported_duplicate(object));
        }
        first
    }
}

impl Touched {
    /// The keys that one of the two concerns.
    pub fn and(mut self, other: Self) -> Self {
        self.commitments.extend(other.commitments);
        self.hosts.extend(other.hosts);
        self.slots.extend(other.slots);
        self.places.extend(other.places);
        self.zones.extend(other.zones);
        self.finished.extend(other.finished);
        self.republished = other.republished.or(self.republished);
        self
    }
}

/// UUID of the commitment that a slot names.
pub(crate) fn commitment_of(slot: &Reservation) -> &str {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.commitment_uuid.as_deref()).unwrap_or_default()
}

/// VM and host of the VMs that a slot confirms in its status.
pub(crate) fn confirmed(slot: &Reservation) -> Vec<(String, String)> {
    let status = slot.status.as_ref().filter(|_| is_slot(slot));
    let outcome = status.and_then(|status| status.committed_resource_reservation.as_ref());
    outcome.into_iter().flat_map(|outcome| &outcome.allocations).map(|(vm, host)| (vm.clone(), host.clone())).collect()
}

/// The host on which a Reservation is in force.
pub(crate) fn in_force_on(reservation: &Reservation) -> Option<&str> {
    reservation.status.as_ref()?.host.as_deref()
}

/// True for an object that reports another one as served in its place.
pub(crate) fn is_reported_duplicate(object: &CommittedResource) -> bool {
    let ready = object.status.as_ref().and_then(|status| conditions::ready(&status.conditions));
    ready.is_some_and(|ready| ready.reason == "DuplicateUUID")
}

fn is_slot(reservation: &Reservation) -> bool {
    reservation.spec.type_ == ReservationType::CommittedResourceReservation
}

/// Without a target a reservation is nowhere, otherwise it is there and where it is in force.
fn hosts_of(reservation: &Reservation) -> BTreeSet<String> {
    let target = reservation.spec.target_host.as_deref();
    let hosts = target.into_iter().flat_map(|target| [Some(target), in_force_on(reservation)]);
    hosts.flatten().map(str::to_owned).collect()
}

fn uuid(commitment: &CommittedResource) -> String {
    commitment.spec.commitment_uuid.clone()
}

fn key(cluster: &ClusterName, object: &impl ResourceExt) -> Key {
    Key::new(cluster.clone(), object.name_any())
}

fn exchange<K>(objects: &mut BTreeMap<Key, Arc<K>>, key: &Key, new: Option<&Arc<K>>) -> Option<Arc<K>> {
    match new {
        Some(new) => objects.insert(key.clone(), new.clone()),
        None => objects.remove(key),
    }
}

// Which objects have which value.

/// Keys by value, ascending.
#[derive(Clone, Debug)]
struct Index<V>(BTreeMap<V, BTreeSet<Key>>);

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V: Ord> Index<V> {
    /// An object had the values `old` and has `new` now.
    fn follow(&mut self, key: &Key, old: impl IntoIterator<Item = V>, new: impl IntoIterator<Item = V>) {
        for value in old {
            if let Some(keys) = self.0.get_mut(&value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.0.remove(&value);
                }
            }
        }
        for value in new {
            self.0.entry(value).or_default().insert(key.clone());
        }
    }

    fn values(&self) -> impl Iterator<Item = &V> {
        self.0.keys()
    }

    fn select<Q: Ord + ?Sized>(&self, value: &Q) -> impl Iterator<Item = &Key>
    where
        V: Borrow<Q>,
    {
        self.0.get(value).into_iter().flatten()
    }
}
