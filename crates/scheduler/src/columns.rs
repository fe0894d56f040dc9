//! The hosts column by column: for every question of a filter the set of hosts that answer yes, for every number of a
//! weigher one list. Written when a Hypervisor changes, so that a request only combines sets.

use std::collections::{BTreeMap, BTreeSet};

use berth_capacity_view::{HostId, HostSet};
use berth_core::host::Host;
use berth_core::{HostName, ProjectId, VmId};

use crate::row::{self, HostFigures, HypervisorType};

/// The columns of all hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) in_service: HostSet,
    /// The cluster has not been observed for too long.
    pub(crate) withheld: HostSet,
    /// The capacity makes no sense, so the host is not offered.
    pub(crate) unreadable: HostSet,
    /// The host names the projects that may use it.
    pub(crate) exclusive: HostSet,
    pub(crate) tenanted: HostSet,
    pub(crate) zones: HostsByName,
    pub(crate) archs: HostsByName,
    pub(crate) traits: HostsByName,
    pub(crate) aggregates: HostsByName,
    kinds: [HostSet; 3],
    names: Vec<HostName>,
    tenants: Vec<BTreeSet<ProjectId>>,
    capacity: Vec<HostFigures>,
    allocation: Vec<HostFigures>,
    guests: BTreeMap<VmId, Vec<HostId>>,
}

impl Columns {
    pub(crate) fn kind(&self, kind: HypervisorType) -> &HostSet {
        &self.kinds[kind as usize]
    }

    /// The name of a host; for a place that is in use.
    pub(crate) fn name(&self, id: HostId) -> Option<&HostName> {
        self.names.get(id.index())
    }

    /// The projects that the aggregates of a host admit; empty means all.
    pub(crate) fn tenants(&self, id: HostId) -> Option<&BTreeSet<ProjectId>> {
        self.tenants.get(id.index())
    }

    pub(crate) fn capacity(&self, id: HostId) -> HostFigures {
        self.capacity.get(id.index()).copied().unwrap_or(HostFigures::UNKNOWN)
    }

    pub(crate) fn allocation(&self, id: HostId) -> HostFigures {
        self.allocation.get(id.index()).copied().unwrap_or(HostFigures::UNKNOWN)
    }

    pub(crate) fn hosts_of(&self, vm: &VmId) -> &[HostId] {
        self.guests.get(vm).map_or(&[], Vec::as_slice)
    }

    /// How many of these VMs each host lists; hosts with none are left out.
    pub(crate) fn members_on(&self, members: &BTreeSet<VmId>) -> BTreeMap<HostId, u64> {
        let mut counts = BTreeMap::new();
        for id in members.iter().flat_map(|member| self.hosts_of(member)) {
            *counts.entry(*id).or_default() += 1;
        }
        counts
    }

    /// Writes a host in place of what stood there.
    pub(crate) fn write(&mut self, id: HostId, old: Option<&Host>, new: &Host, withheld: bool) {
        self.in_service.set(id, row::in_service(new));
        self.withheld.set(id, withheld);
        self.unreadable.set(id, new.invalid_amount.is_some());
        self.exclusive.set(id, !new.allowed_projects.is_empty());
        let kind = HypervisorType::of(new) as usize;
        for (number, set) in self.kinds.iter_mut().enumerate() {
            set.set(id, number == kind);
        }
        if old.is_none() {
            put(&mut self.names, id, new.name.clone(), HostName::default());
        }
        self.write_names(id, old, new);
        self.write_guests(id, old, Some(new));
        put(&mut self.capacity, id, new.effective_capacity.into(), HostFigures::UNKNOWN);
        put(&mut self.allocation, id, new.allocation.into(), HostFigures::UNKNOWN);
    }

    /// Removes a host from the column of VMs; the other columns are not read for a free index and are overwritten by
    /// the next host.
    pub(crate) fn forget(&mut self, id: HostId, old: &Host) {
        self.write_guests(id, Some(old), None);
    }

    /// Names change rarely, and there are many of them, so equal names are not written again.
    fn write_names(&mut self, id: HostId, old: Option<&Host>, new: &Host) {
        let same = |equal: fn(&Host, &Host) -> bool| old.is_some_and(|old| equal(old, new));
        if !same(|old, new| old.zone == new.zone) {
            self.zones.write(id, Some(new.zone.as_str()).filter(|zone| !zone.is_empty()));
        }
        if !same(|old, new| old.capabilities.cpu_arch == new.capabilities.cpu_arch) {
            self.archs.write(id, [new.capabilities.cpu_arch.as_str()]);
        }
        if !same(|old, new| old.traits == new.traits) {
            self.traits.write(id, new.traits.iter().map(String::as_str));
        }
        if !same(|old, new| old.aggregates == new.aggregates) {
            self.aggregates.write(id, new.aggregates.iter().map(|aggregate| aggregate.uuid.as_str()));
            let tenants = row::tenants(new);
            self.tenanted.set(id, !tenants.is_empty());
            put(&mut self.tenants, id, tenants, BTreeSet::new());
        }
    }

    fn write_guests(&mut self, id: HostId, old: Option<&Host>, new: Option<&Host>) {
        if old.zip(new).is_some_and(|(old, new)| old.instances.keys().eq(new.instances.keys())) {
            return;
        }
        let lists = |host: Option<&Host>, vm: &VmId| host.is_some_and(|host| host.instances.contains_key(vm));
        for vm in old.into_iter().flat_map(|host| host.instances.keys()).filter(|vm| !lists(new, vm)) {
            if let Some(hosts) = self.guests.get_mut(vm) {
                hosts.retain(|host| *host != id);
                if hosts.is_empty() {
                    self.guests.remove(vm);
                }
            }
        }
        for vm in new.into_iter().flat_map(|host| host.instances.keys()).filter(|vm| !lists(old, vm)) {
            self.guests.entry(vm.clone()).or_default().push(id);
        }
    }
}

fn put<T: Clone>(column: &mut Vec<T>, id: HostId, value: T, empty: T) {
    if id.index() >= column.len() {
        column.resize(id.index() + 1, empty);
    }
    column[id.index()] = value;
}

/// Sets of hosts by a name that they have in common. Names are never given back: zones, traits and aggregates of a
/// cloud are few and stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostsByName {
    sets: BTreeMap<String, HostSet>,
}

impl HostsByName {
    /// The hosts with that name; none for a name that no host ever had.
    pub(crate) fn get(&self, name: &str) -> &HostSet {
        self.sets.get(name).unwrap_or(HostSet::none())
    }

    fn write<'n>(&mut self, id: HostId, names: impl IntoIterator<Item = &'n str>) {
        for set in self.sets.values_mut() {
            set.remove(id);
        }
        for name in names {
            match self.sets.get_mut(name) {
                Some(set) => set.insert(id),
                None => self.sets.entry(name.to_owned()).or_default().insert(id),
            };
        }
    }
}
