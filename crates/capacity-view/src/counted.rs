//! Everything that takes capacity on a host: reservations, assume entries and claims. The view holds them; an overlay
//! adds the changes of one decision.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::reservation::Reservation;
use berth_core::{HostName, SlotKey, VmId};

use crate::claim::Claims;
use crate::index::Index;
use crate::{Assumed, Claim, HostState};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownReservation {
    pub(crate) reservation: Reservation,
    /// The present `targetHost` was assumed before it was shown.
    pub(crate) ours: bool,
}

/// The differences of a decision from the view.
#[derive(Clone, Debug, Default)]
pub(crate) struct WhatIfChanges {
    /// Slots that it shrinks, and as `None` those that it releases.
    pub(crate) slots: BTreeMap<SlotKey, Option<Reservation>>,
    pub(crate) entries: DecisionEntries,
}

/// The entries that a decision leaves when it is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionEntries {
    /// Assume entries that it makes, and as `None` those that it ends.
    pub(crate) assumed: BTreeMap<SlotKey, Option<Assumed>>,
    pub(crate) unclaimed: BTreeSet<VmId>,
}

impl DecisionEntries {
    /// Takes free capacity for a slot, in place of its former assume entry.
    pub fn assume(&mut self, entry: Assumed) {
        self.assumed.insert(entry.key.clone(), Some(entry));
    }

    pub fn forget(&mut self, key: &SlotKey) {
        self.assumed.insert(key.clone(), None);
    }

    pub fn unclaim(&mut self, instance: VmId) {
        self.unclaimed.insert(instance);
    }
}

impl WhatIfChanges {
    pub(crate) fn none() -> &'static Self {
        static NONE: WhatIfChanges = WhatIfChanges {
            slots: BTreeMap::new(),
            entries: DecisionEntries { assumed: BTreeMap::new(), unclaimed: BTreeSet::new() },
        };
        &NONE
    }
}

pub(crate) struct Counted<'v> {
    pub(crate) reservations: &'v BTreeMap<SlotKey, KnownReservation>,
    pub(crate) assumed: &'v BTreeMap<SlotKey, Assumed>,
    pub(crate) claims: &'v Claims,
    pub(crate) index: &'v Index,
    pub(crate) changes: &'v WhatIfChanges,
}

impl<'v> Counted<'v> {
    /// Renews the sums of a host without the claim of one instance.
    pub(crate) fn renew(&self, state: &mut HostState, without: Option<&VmId>) {
        let name = state.host().name.clone();
        let recorded: Vec<&Reservation> =
            self.index.on_host(&name).iter().filter_map(|key| self.reservation(key)).collect();
        let promised: Vec<Reservation> =
            self.assumed_on(&name).iter().map(|entry| entry.promise(self.reservation(&entry.key))).collect();
        let claims: Vec<&Claim> = self.claims_on(&name).filter(|claim| Some(&claim.instance) != without).collect();
        state.renew(&recorded, &promised, &claims);
    }

    /// Updates the capacity that one slot takes on a host; true if the host had to be recalculated.
    pub(crate) fn follow(&self, key: &SlotKey, state: &mut HostState) -> bool {
        let recorded = self.reservation(key);
        let promise = self.entry(key).filter(|entry| entry.host == state.host().name);
        let promise = promise.map(|entry| entry.promise(recorded));
        let here = recorded.filter(|slot| slot.hosts().any(|host| *host == state.host().name));
        let follows = state.follow(key, here, promise.as_ref());
        if !follows {
            self.renew(state, None);
        }
        !follows
    }

    pub(crate) fn entry(&self, key: &SlotKey) -> Option<&'v Assumed> {
        match self.changes.entries.assumed.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.assumed.get(key),
        }
    }

    fn reservation(&self, key: &SlotKey) -> Option<&'v Reservation> {
        match self.changes.slots.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.reservations.get(key).map(|known| &known.reservation),
        }
    }

    /// The assume entries for a host, in the order of their keys.
    fn assumed_on(&self, host: &HostName) -> Vec<&'v Assumed> {
        let changed = &self.changes.entries.assumed;
        let kept = self.index.assumed_on(host).iter().filter(|key| !changed.contains_key(*key));
        let made = changed.values().flatten().filter(|entry| entry.host == *host);
        let mut entries: Vec<&Assumed> = kept.filter_map(|key| self.assumed.get(key)).chain(made).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }

    fn claims_on(&self, host: &HostName) -> impl Iterator<Item = &'v Claim> {
        let ended = &self.changes.entries.unclaimed;
        self.claims.on_host(host).filter(|claim| !ended.contains(&claim.instance))
    }
}
