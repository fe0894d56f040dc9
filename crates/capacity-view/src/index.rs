//! Indexes over reservations and assume entries, so that a request costs its own slots instead of all reservations.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{ClusterName, GroupName, HostName, ProjectId, SlotKey, VmId};

use crate::Class;

type Keys = BTreeSet<SlotKey>;

static NO_KEYS: Keys = Keys::new();

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    on_host: BTreeMap<HostName, Keys>,
    assumed_on: BTreeMap<HostName, Keys>,
    of_owner: BTreeMap<(ProjectId, GroupName), Keys>,
    of_vm: BTreeMap<VmId, Keys>,
    expecting: BTreeMap<VmId, Keys>,
    failovers: Keys,
    clusters: BTreeMap<ClusterName, usize>,
}

impl Index {
    pub(crate) fn insert(&mut self, reservation: &Reservation) {
        let key = &reservation.key;
        for host in reservation.hosts() {
            self.on_host.entry(host.clone()).or_default().insert(key.clone());
        }
        if let Some(owner) = owner(reservation) {
            self.of_owner.entry(owner).or_default().insert(key.clone());
        }
        for vm in concerned(reservation) {
            self.of_vm.entry(vm.clone()).or_default().insert(key.clone());
        }
        for (vm, _) in reservation.expected() {
            self.expecting.entry(vm.clone()).or_default().insert(key.clone());
        }
        *self.clusters.entry(key.cluster.clone()).or_default() += 1;
        if Class::of(reservation) == Class::Failover {
            self.failovers.insert(key.clone());
        }
    }

    pub(crate) fn remove(&mut self, reservation: &Reservation) {
        let key = &reservation.key;
        for host in reservation.hosts() {
            drop_key(&mut self.on_host, host, key);
        }
        if let Some(owner) = owner(reservation) {
            drop_key(&mut self.of_owner, &owner, key);
        }
        for vm in concerned(reservation) {
            drop_key(&mut self.of_vm, vm, key);
        }
        for (vm, _) in reservation.expected() {
            drop_key(&mut self.expecting, vm, key);
        }
        self.failovers.remove(key);
        if let Some(number) = self.clusters.get_mut(&key.cluster) {
            *number -= 1;
            if *number == 0 {
                self.clusters.remove(&key.cluster);
            }
        }
    }

    pub(crate) fn insert_assumed(&mut self, host: &HostName, key: &SlotKey) {
        self.assumed_on.entry(host.clone()).or_default().insert(key.clone());
    }

    pub(crate) fn remove_assumed(&mut self, host: &HostName, key: &SlotKey) {
        drop_key(&mut self.assumed_on, host, key);
    }

    pub(crate) fn on_host(&self, host: &HostName) -> &Keys {
        self.on_host.get(host).unwrap_or(&NO_KEYS)
    }

    pub(crate) fn assumed_on(&self, host: &HostName) -> &Keys {
        self.assumed_on.get(host).unwrap_or(&NO_KEYS)
    }

    /// The ready slots of a project and group.
    pub(crate) fn of_owner(&self, project: &ProjectId, group: &GroupName) -> &Keys {
        self.of_owner.get(&(project.clone(), group.clone())).unwrap_or(&NO_KEYS)
    }

    /// The fail-over and in-flight reservations that concern a VM.
    pub(crate) fn of_vm(&self, vm: &VmId) -> &Keys {
        self.of_vm.get(vm).unwrap_or(&NO_KEYS)
    }

    pub(crate) fn expecting(&self, vm: &VmId) -> &Keys {
        self.expecting.get(vm).unwrap_or(&NO_KEYS)
    }

    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterName> {
        self.clusters.keys()
    }

    pub(crate) fn failovers(&self) -> &Keys {
        &self.failovers
    }
}

fn owner(reservation: &Reservation) -> Option<(ProjectId, GroupName)> {
    let owned = Class::of(reservation) == Class::Committed;
    owned.then(|| (reservation.project.clone(), reservation.group.clone()))
}

fn concerned(reservation: &Reservation) -> impl Iterator<Item = &VmId> {
    let (protected, landing) = match &reservation.kind {
        ReservationKind::Failover(vms) => (Some(vms), None),
        ReservationKind::InFlight(vm) => (None, Some(vm)),
        ReservationKind::Committed(_) | ReservationKind::Other => (None, None),
    };
    protected.into_iter().flatten().chain(landing)
}

fn drop_key<K: Ord>(map: &mut BTreeMap<K, Keys>, entry: &K, key: &SlotKey) {
    if let Some(keys) = map.get_mut(entry) {
        keys.remove(key);
        if keys.is_empty() {
            map.remove(entry);
        }
    }
}
