//! The capacity view. Every event updates the free capacity of the hosts that it concerns, so that reading never
//! computes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_core::host::{Amounts, Host};
use berth_core::reservation::Reservation;
use berth_core::{GroupName, HostName, ProjectId, Resources, SlotKey, VmId};

use crate::claim::Claims;
use crate::columns::Columns;
use crate::counted::{Counted, KnownReservation, WhatIfChanges};
use crate::hosts::Hosts;
use crate::index::Index;
use crate::{Assumed, Claim, Class, DecisionEntries, HeldClaim, HostId, HostSet, HostState, Restored};

/// All hosts, reservations, assume entries and claims, with the free capacity of each host.
/// Hosts are known by name alone: when two clusters hold a Hypervisor of the same name, the one that was set last
/// counts and [`View::displaced`] goes up.
#[derive(Clone, Debug, Default)]
pub struct View {
    hosts: Hosts,
    reservations: BTreeMap<SlotKey, KnownReservation>,
    assumed: BTreeMap<SlotKey, Assumed>,
    claims: Claims,
    vm_locations: VmLocations,
    index: Index,
    displaced: u64,
    renewed: u64,
}

/// The effect of a Hypervisor event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostChange {
    pub id: HostId,
    /// True when something may fit now that did not before: the host is new, has more capacity, or differs in anything
    /// but numbers and VMs.
    pub gained: bool,
    /// Other hosts that gained free capacity, because a VM that was promised to them has landed here.
    pub freed: Vec<HostId>,
    /// The claims that have ended because the host lists their VMs.
    pub landed: Vec<Claim>,
}

impl View {
    /// A Hypervisor appeared or changed. Ends the claims that it shows.
    pub fn set_host(&mut self, host: Host) -> HostChange {
        let name = host.name.clone();
        let landed: Vec<Claim> = self.claims.landed_on(&host).iter().filter_map(|vm| self.claims.take(vm)).collect();
        let mut others: BTreeSet<HostName> = landed.iter().map(|claim| claim.host.clone()).collect();
        others.remove(&name);
        let (id, gained) = self.put_host(host);
        HostChange { id, gained, freed: self.renew_all(others), landed }
    }

    fn put_host(&mut self, host: Host) -> (HostId, bool) {
        let Some((id, state)) = self.hosts.id(&host.name).and_then(|id| Some((id, self.hosts.get_mut(id)?))) else {
            self.vm_locations.follow(&host.name, &BTreeMap::new(), &host.instances);
            let id = self.hosts.insert(HostState::new(host));
            self.renew(id);
            return (id, true);
        };
        let old = state.host();
        let (other_cluster, other_offer) = (old.cluster != host.cluster, !same_offer(old, &host));
        self.vm_locations.follow(&host.name, &old.instances, &host.instances);
        state.replace(host);
        self.displaced += u64::from(other_cluster);
        let more_capacity = self.renew(id);
        (id, more_capacity || other_offer)
    }

    /// A Hypervisor was deleted. Returns its place, which is free for another host from now on.
    pub fn remove_host(&mut self, name: &HostName) -> Option<HostId> {
        let state = self.hosts.id(name).and_then(|id| self.hosts.get(id))?;
        self.vm_locations.follow(name, &state.host().instances, &BTreeMap::new());
        self.hosts.remove(name)
    }

    /// A Reservation appeared or changed. Ends the assume entry and the claim that it shows. Returns the hosts that
    /// gained free capacity.
    pub fn set_reservation(&mut self, reservation: Reservation) -> Vec<HostId> {
        let key = reservation.key.clone();
        let old = self.reservations.get(&key);
        if old.is_some_and(|known| known.reservation == reservation) {
            return Vec::new();
        }
        let mut touched = self.touched_by(&key);
        touched.extend(reservation.hosts().cloned());
        let ours = self.is_ours(&reservation, old);
        let before = old.and_then(|known| known.reservation.target_host.as_ref());
        let claim = self.claims.shown_by(&reservation, before).map(|claim| claim.instance.clone());
        if let Some(known) = old {
            self.index.remove(&known.reservation);
        }
        self.index.insert(&reservation);
        if self.assumed.get(&key).is_some_and(|entry| entry.is_shown_by(&reservation)) {
            self.drop_assumed(&key);
        }
        touched.extend(claim.and_then(|instance| self.claims.remove(&instance)));
        self.reservations.insert(key.clone(), KnownReservation { reservation, ours });
        self.follow(&key, touched)
    }

    /// Removes a deleted Reservation and its assume entry. Returns the hosts that gained free capacity. A slot that was
    /// never observed keeps its entry.
    pub fn remove_reservation(&mut self, key: &SlotKey) -> Vec<HostId> {
        let touched = self.touched_by(key);
        let Some(known) = self.reservations.remove(key) else { return Vec::new() };
        self.index.remove(&known.reservation);
        self.drop_assumed(key);
        self.follow(key, touched)
    }

    /// Takes free capacity for a slot, in place of its former assume entry. Returns the hosts that gained free
    /// capacity.
    pub fn assume(&mut self, entry: Assumed) -> Vec<HostId> {
        let mut touched: BTreeSet<HostName> = self.drop_assumed(&entry.key).into_iter().collect();
        touched.insert(entry.host.clone());
        self.index.insert_assumed(&entry.host, &entry.key);
        let key = entry.key.clone();
        self.assumed.insert(key.clone(), entry);
        self.follow(&key, touched)
    }

    /// Ends the assume entry of a slot, in doubt or not. Returns the hosts that gained free capacity.
    pub fn forget(&mut self, key: &SlotKey) -> Vec<HostId> {
        let touched = self.drop_assumed(key);
        self.follow(key, touched)
    }

    /// Marks the entry of a slot as in doubt.
    pub fn doubt(&mut self, key: &SlotKey) {
        if let Some(entry) = self.assumed.get_mut(key) {
            entry.doubt = true;
        }
    }

    /// Claims free capacity for an instance, in place of its former claim. Returns the hosts that gained free capacity.
    pub fn claim(&mut self, claim: Claim) -> Vec<HostId> {
        let mut touched: BTreeSet<HostName> = self.claims.remove(&claim.instance).into_iter().collect();
        touched.insert(claim.host.clone());
        let listed = self.vm_locations.of(&claim.instance);
        self.claims.insert(claim, listed);
        self.renew_all(touched)
    }

    /// Takes over a claim of an earlier process, unless the objects show its effect already.
    pub fn restore(&mut self, held: HeldClaim) -> Restored {
        if self.claim_of(&held.claim.instance).is_some() {
            return Restored::Superseded;
        }
        if self.shows(&held) {
            return Restored::Shown;
        }
        let host = held.claim.host.clone();
        self.claims.insert(held.claim, held.listed);
        self.renew_all([host]);
        Restored::Kept
    }

    fn shows(&self, held: &HeldClaim) -> bool {
        let claim = &held.claim;
        let placed = |key| self.reservation(key).is_some_and(|slot| slot.target_host.as_ref() == Some(&claim.host));
        self.vm_locations.of(&claim.instance).iter().any(|host| held.arrived_on(host))
            || self.reservations_named(claim.instance.as_str()).any(placed)
    }

    /// Ends the claim of an instance. Returns the hosts that gained free capacity.
    pub fn unclaim(&mut self, instance: &VmId) -> Vec<HostId> {
        let touched = self.claims.remove(instance);
        self.renew_all(touched)
    }

    /// Moves the claim of an instance out of its slot: all of it then counts beside slots. No host gains free capacity
    /// by this.
    pub fn unbook(&mut self, instance: &VmId) {
        let touched = self.claims.unbook(instance);
        self.renew_all(touched);
    }

    /// Ends the claims that have expired; `now` is monotonic time since the process began. Returns the hosts that
    /// gained free capacity.
    pub fn expire(&mut self, now: Duration) -> Vec<HostId> {
        let over = self.claims.expired(now);
        let touched: BTreeSet<HostName> = over.iter().filter_map(|instance| self.claims.remove(instance)).collect();
        self.renew_all(touched)
    }

    /// Takes over the assume entries and the ended claims of a decision. Returns the hosts that gained free capacity.
    pub fn commit(&mut self, entries: DecisionEntries) -> Vec<HostId> {
        let mut gained = Vec::new();
        for (key, entry) in entries.assumed {
            gained.extend(match entry {
                Some(entry) => self.assume(entry),
                None => self.forget(&key),
            });
        }
        for instance in &entries.unclaimed {
            gained.extend(self.unclaim(instance));
        }
        gained
    }

    /// Free capacity of a host: capacity minus VMs, reservations, assume entries and claims; `None` for an unknown
    /// host.
    pub fn free(&self, host: &HostName) -> Option<Amounts> {
        Some(self.state(self.id(host)?)?.free())
    }

    pub fn id(&self, host: &HostName) -> Option<HostId> {
        self.hosts.id(host)
    }

    pub fn state(&self, id: HostId) -> Option<&HostState> {
        self.hosts.get(id)
    }

    /// All hosts, in the order of their places.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, &HostState)> {
        self.hosts.iter()
    }

    pub fn present(&self) -> &HostSet {
        self.hosts.columns().present()
    }

    pub(crate) fn columns(&self) -> &Columns {
        self.hosts.columns()
    }

    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    pub fn reservation(&self, key: &SlotKey) -> Option<&Reservation> {
        self.reservations.get(key).map(|known| &known.reservation)
    }

    pub fn reservation_count(&self) -> usize {
        self.reservations.len()
    }

    /// True when the slot's present `targetHost` was assumed before it was shown: it is a placement of ours.
    pub fn placed_by_us(&self, key: &SlotKey) -> bool {
        self.reservations.get(key).is_some_and(|known| known.ours)
    }

    pub fn assumed(&self, key: &SlotKey) -> Option<&Assumed> {
        self.assumed.get(key)
    }

    pub fn all_assumed(&self) -> impl ExactSizeIterator<Item = &Assumed> {
        self.assumed.values()
    }

    pub fn claim_of(&self, instance: &VmId) -> Option<&Claim> {
        self.claims.get(instance.as_str())
    }

    /// The claims of instances on a host.
    pub fn claims_on(&self, host: &HostName) -> impl Iterator<Item = &Claim> {
        self.claims.on_host(host)
    }

    pub fn claims_of(&self, project: &ProjectId) -> impl Iterator<Item = &Claim> {
        self.claims.of_project(project)
    }

    pub fn all_claims(&self) -> impl ExactSizeIterator<Item = &Claim> {
        self.claims.iter()
    }

    /// All claims with what is needed to take them over.
    pub fn held_claims(&self) -> impl ExactSizeIterator<Item = &HeldClaim> {
        self.claims.held()
    }

    /// The hosts that list a VM, running or not.
    pub fn hosts_of_vm(&self, vm: &VmId) -> BTreeSet<HostName> {
        self.vm_locations.of(vm)
    }

    /// True when another slot than this one expects the VM, is about to, or has been promised it.
    pub fn is_vm_of_other_slot(&self, vm: &VmId, slot: &SlotKey) -> bool {
        let booked = self.claim_of(vm).and_then(|claim| claim.slot.as_ref());
        self.slots_expecting(vm).any(|other| other.key != *slot)
            || self.all_assumed().any(|entry| entry.key != *slot && entry.vms.contains_key(vm))
            || booked.is_some_and(|booked| booked != slot)
    }

    pub fn slots_expecting(&self, vm: &VmId) -> impl Iterator<Item = &Reservation> {
        self.index.expecting(vm).iter().filter_map(|key| self.reservation(key))
    }

    /// The reservations of that name, in all clusters.
    pub fn reservations_named(&self, name: &str) -> impl Iterator<Item = &SlotKey> {
        let keys = self.index.clusters().map(move |cluster| SlotKey::new(cluster.clone(), name));
        keys.filter_map(|key| self.reservations.get_key_value(&key)).map(|(key, _)| key)
    }

    /// The ready slots of a project and flavor group.
    pub fn slots_of(&self, project: &ProjectId, group: &GroupName) -> impl Iterator<Item = &Reservation> {
        self.index.of_owner(project, group).iter().filter_map(|key| self.reservation(key))
    }

    /// The fail-over and in-flight reservations that concern a VM, ready or not.
    pub fn reservations_for(&self, vm: &VmId) -> impl Iterator<Item = &Reservation> {
        self.index.of_vm(vm).iter().filter_map(|key| self.reservation(key))
    }

    pub fn failovers_for(&self, vm: &VmId) -> impl Iterator<Item = &Reservation> {
        self.reservations_for(vm).filter(|reservation| Class::of(reservation) == Class::Failover)
    }

    pub fn failovers(&self) -> impl Iterator<Item = &Reservation> {
        self.index.failovers().iter().filter_map(|key| self.reservation(key))
    }

    /// How often a host replaced one of the same name in another cluster.
    pub fn displaced(&self) -> u64 {
        self.displaced
    }

    /// How often a host was recalculated from everything on it, which is expensive for a full host.
    pub fn renewed(&self) -> u64 {
        self.renewed
    }

    /// The hosts whose stored sums differ from sums calculated from the objects; always empty unless there is a defect.
    pub fn drift(&self) -> Vec<HostName> {
        let mut anew = Self::default();
        for known in self.reservations.values() {
            anew.set_reservation(known.reservation.clone());
        }
        for entry in self.assumed.values() {
            anew.assume(entry.clone());
        }
        for (_, state) in self.hosts() {
            anew.set_host(state.host().clone());
        }
        // Only now, as no host that is set before shows a claim.
        for claim in self.claims.iter() {
            anew.claim(claim.clone());
        }
        let wrong = |name: &HostName, state| anew.id(name).and_then(|id| anew.state(id)) != Some(state);
        self.hosts.by_name().filter(|(name, state)| wrong(name, state)).map(|(name, _)| name.clone()).collect()
    }

    fn is_ours(&self, reservation: &Reservation, old: Option<&KnownReservation>) -> bool {
        let Some(target) = &reservation.target_host else { return false };
        let assumed = self.assumed.get(&reservation.key).map(|entry| &entry.host);
        let claimed = self.claims.get(reservation.key.name.as_str()).map(|claim| &claim.host);
        let unchanged = old.filter(|known| known.reservation.target_host.as_ref() == Some(target));
        assumed == Some(target) || claimed == Some(target) || unchanged.is_some_and(|known| known.ours)
    }

    /// The hosts on which the slot counts: those that the object names, and the one that is assumed.
    fn touched_by(&self, key: &SlotKey) -> BTreeSet<HostName> {
        let named = self.reservation(key).into_iter().flat_map(Reservation::hosts);
        named.chain(self.assumed(key).map(|entry| &entry.host)).cloned().collect()
    }

    fn drop_assumed(&mut self, key: &SlotKey) -> Option<HostName> {
        let entry = self.assumed.remove(key)?;
        self.index.remove_assumed(&entry.host, key);
        Some(entry.host)
    }

    /// Updates the capacity that one slot takes on these hosts; returns those that gained free capacity.
    fn follow(&mut self, key: &SlotKey, names: impl IntoIterator<Item = HostName>) -> Vec<HostId> {
        let ids: Vec<HostId> = names.into_iter().filter_map(|name| self.hosts.id(&name)).collect();
        ids.into_iter().filter(|id| self.follow_on(*id, key)).collect()
    }

    /// The same on one host; true when it gained free capacity.
    fn follow_on(&mut self, id: HostId, key: &SlotKey) -> bool {
        self.change(id, |counted, state| counted.follow(key, state))
    }

    /// Renews hosts; returns those that gained free capacity. Names without a Hypervisor are counted as soon as it
    /// appears.
    fn renew_all(&mut self, names: impl IntoIterator<Item = HostName>) -> Vec<HostId> {
        let ids: Vec<HostId> = names.into_iter().filter_map(|name| self.hosts.id(&name)).collect();
        ids.into_iter().filter(|id| self.renew(*id)).collect()
    }

    /// Renews one host; true when it gained free capacity.
    fn renew(&mut self, id: HostId) -> bool {
        self.change(id, |counted, state| {
            counted.renew(state, None);
            true
        })
    }

    /// `f` updates the host, and returns whether it has recalculated it.
    fn change(&mut self, id: HostId, f: impl FnOnce(&Counted<'_>, &mut HostState) -> bool) -> bool {
        let Self { hosts, reservations, assumed, claims, index, renewed, .. } = self;
        let Some(state) = hosts.get_mut(id) else { return false };
        let before = state.free_capacity();
        let counted = Counted { reservations, assumed, claims, index, changes: WhatIfChanges::none() };
        *renewed += u64::from(f(&counted, state));
        let after = state.free_capacity();
        hosts.note(id);
        grew(before, after)
    }

    /// Everything that takes free capacity on hosts, with the changes of a decision.
    pub(crate) fn counted<'c>(&'c self, changes: &'c WhatIfChanges) -> Counted<'c> {
        let Self { reservations, assumed, claims, index, .. } = self;
        Counted { reservations, assumed, claims, index, changes }
    }
}

fn grew(before: Option<Resources>, after: Option<Resources>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => !after.fits(before),
        (None, after) => after.is_some(),
        (Some(_), None) => false,
    }
}

/// True when the two differ at most in capacity, allocation and VMs.
fn same_offer(old: &Host, new: &Host) -> bool {
    let Host {
        cluster,
        name,
        zone,
        invalid_amount,
        traits,
        aggregates,
        allowed_projects,
        conditions,
        capabilities,
        ..
    } = new;
    old.cluster == *cluster
        && old.name == *name
        && old.zone == *zone
        && old.invalid_amount == *invalid_amount
        && old.traits == *traits
        && old.aggregates == *aggregates
        && old.allowed_projects == *allowed_projects
        && old.conditions == *conditions
        && old.capabilities == *capabilities
}

// The hosts that list a VM, kept up to date with every row of a host.

#[derive(Clone, Debug, Default)]
pub(crate) struct VmLocations(BTreeMap<VmId, BTreeSet<HostName>>);

impl VmLocations {
    /// The VMs of a host have changed; `true` and `false` show whether they run.
    pub(crate) fn follow(&mut self, host: &HostName, old: &BTreeMap<VmId, bool>, new: &BTreeMap<VmId, bool>) {
        for vm in old.keys().filter(|vm| !new.contains_key(*vm)) {
            if let Some(hosts) = self.0.get_mut(vm) {
                hosts.remove(host);
                if hosts.is_empty() {
                    self.0.remove(vm);
                }
            }
        }
        for vm in new.keys().filter(|vm| !old.contains_key(*vm)) {
            self.0.entry(vm.clone()).or_default().insert(host.clone());
        }
    }

    pub(crate) fn of(&self, vm: &VmId) -> BTreeSet<HostName> {
        self.0.get(vm).cloned().unwrap_or_default()
    }
}
