//! The view as one decision sees it: with the slots that it releases or shrinks and those that it has placed already.
//! The view stays unchanged until the decision is committed; a dropped decision has no effect.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::host::Amounts;
use berth_core::reservation::Reservation;
use berth_core::{HostName, Resources, SlotKey, VmId};

use crate::counted::{Counted, WhatIfChanges};
use crate::{Assumed, Claim, DecisionEntries, HostId, HostSet, HostState, View};

/// A [`View`] with the changes of one decision.
#[derive(Clone, Debug)]
pub struct Overlay<'v> {
    view: &'v View,
    changes: WhatIfChanges,
    /// The hosts on which something differs, with their changed state.
    touched: BTreeMap<HostId, HostState>,
    touched_set: HostSet,
    renewed: u64,
}

impl View {
    /// The view as a decision sees it while it is made. It changes nothing here.
    pub fn overlay(&self) -> Overlay<'_> {
        Overlay::new(self)
    }
}

impl<'v> Overlay<'v> {
    pub(crate) fn new(view: &'v View) -> Self {
        let (changes, touched, touched_set) = Default::default();
        Self { view, changes, touched, touched_set, renewed: 0 }
    }

    /// Counts a slot as if its object did not exist. Its assume entry stays.
    pub fn release(&mut self, key: &SlotKey) {
        if self.view.reservation(key).is_some() {
            self.count_as(key, None);
        }
    }

    /// Counts a slot as smaller than its object; it never grows this way.
    pub fn shrink(&mut self, key: &SlotKey, size: Resources) {
        if let Some(known) = self.view.reservation(key) {
            let size = Resources::new(known.size.memory.min(size.memory), known.size.cpu.min(size.cpu));
            self.count_as(key, Some(Reservation { size, ..known.clone() }));
        }
    }

    /// Counts a slot as its object again.
    pub fn restore(&mut self, key: &SlotKey) {
        if self.changes.slots.remove(key).is_some() {
            self.follow(key, self.touched_by(key));
        }
    }

    /// True while the slot counts as something else than its object.
    pub fn changes_slot(&self, key: &SlotKey) -> bool {
        self.changes.slots.contains_key(key)
    }

    /// Takes free capacity for a slot, in place of its former assume entry.
    pub fn assume(&mut self, entry: Assumed) {
        let key = entry.key.clone();
        let former = self.assumed(&key).map(|entry| entry.host.clone());
        let hosts: BTreeSet<HostName> = former.into_iter().chain([entry.host.clone()]).collect();
        self.changes.entries.assume(entry);
        self.follow(&key, hosts);
    }

    /// Ends the assume entry of a slot, in doubt or not.
    pub fn forget(&mut self, key: &SlotKey) {
        let former = self.assumed(key).map(|entry| entry.host.clone());
        if former.is_some() {
            self.changes.entries.forget(key);
            self.follow(key, former);
        }
    }

    pub fn unclaim(&mut self, instance: &VmId) {
        let Some(host) = self.claim_of(instance).map(|claim| claim.host.clone()) else { return };
        self.changes.entries.unclaim(instance.clone());
        self.touch(&host, |counted, state| {
            counted.renew(state, None);
            true
        });
    }

    /// The same for all instances.
    pub fn unclaim_all(&mut self) {
        self.changes.entries.unclaimed.extend(self.view.all_claims().map(|claim| claim.instance.clone()));
        let hosts: BTreeSet<&HostName> = self.view.all_claims().map(|claim| &claim.host).collect();
        for host in hosts {
            self.touch(host, |counted, state| {
                counted.renew(state, None);
                true
            });
        }
    }

    /// The entries that the decision leaves when it is [committed](View::commit).
    pub fn into_entries(self) -> DecisionEntries {
        self.changes.entries
    }

    /// The part that no decision changes.
    pub fn view(&self) -> &'v View {
        self.view
    }

    /// Free capacity of a host, as [`View::free`].
    pub fn free(&self, host: &HostName) -> Option<Amounts> {
        Some(self.state(self.view.id(host)?)?.free())
    }

    /// Free capacity of the host of an entry if the entry comes true: the slot counts there once, with the VMs that it
    /// expects and those of the entry, and nowhere else.
    pub fn free_if(&self, entry: &Assumed) -> Option<Amounts> {
        let promise = entry.promise(self.view.reservation(&entry.key));
        let vms = promise.expected().map(|(vm, size)| (vm.clone(), *size)).collect();
        let mut future = self.clone();
        future.forget(&entry.key);
        future.release(&entry.key);
        future.assume(Assumed { size: promise.size, vms, ..entry.clone() });
        future.free(&entry.host)
    }

    pub fn state(&self, id: HostId) -> Option<&HostState> {
        if self.touched_set.has(id) { self.touched.get(&id) } else { self.view.state(id) }
    }

    pub fn assumed(&self, key: &SlotKey) -> Option<&Assumed> {
        self.counted().entry(key)
    }

    pub fn claim_of(&self, instance: &VmId) -> Option<&'v Claim> {
        self.view.claim_of(instance).filter(|claim| !self.changes.entries.unclaimed.contains(&claim.instance))
    }

    /// How often a host was recalculated from everything on it, which is expensive for a full host.
    pub fn renewed(&self) -> u64 {
        self.renewed
    }

    /// The hosts for which the columns of the view are outdated.
    pub(crate) fn touched(&self) -> &HostSet {
        &self.touched_set
    }

    /// The host of a claim as it would be without it.
    pub(crate) fn without_claim(&self, claim: &Claim) -> Option<(HostId, HostState)> {
        let id = self.view.id(&claim.host)?;
        let mut state = self.state(id)?.clone();
        self.counted().renew(&mut state, Some(&claim.instance));
        Some((id, state))
    }

    fn counted(&self) -> Counted<'_> {
        self.view.counted(&self.changes)
    }

    fn count_as(&mut self, key: &SlotKey, counted: Option<Reservation>) {
        self.changes.slots.insert(key.clone(), counted);
        self.follow(key, self.touched_by(key));
    }

    /// The hosts on which the slot counts: those that the object names, and the one that is assumed.
    fn touched_by(&self, key: &SlotKey) -> BTreeSet<HostName> {
        let named = self.view.reservation(key).into_iter().flat_map(Reservation::hosts);
        named.chain(self.assumed(key).map(|entry| &entry.host)).cloned().collect()
    }

    fn follow(&mut self, key: &SlotKey, hosts: impl IntoIterator<Item = HostName>) {
        for host in hosts {
            self.touch(&host, |counted, state| counted.follow(key, state));
        }
    }

    /// `f` updates a host, and returns whether it has recalculated it.
    fn touch(&mut self, host: &HostName, f: impl FnOnce(&Counted<'_>, &mut HostState) -> bool) {
        let Some(id) = self.view.id(host) else { return };
        let Self { view, changes, touched, touched_set, renewed } = self;
        if touched_set.insert(id) {
            touched.extend(view.state(id).map(|state| (id, state.clone())));
        }
        if let Some(state) = touched.get_mut(&id) {
            *renewed += u64::from(f(&view.counted(changes), state));
        }
    }
}
