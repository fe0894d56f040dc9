//! The ledger of cores: decisions that no object shows yet, so that no two decisions give out the same cores.

use std::collections::BTreeMap;

use berth_cluster::ObjectKey;
use berth_core::commitment::Spec;
use berth_core::{Cores, GroupName, Zone};

/// Where cores are counted: a flavor group in a zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupAndZone {
    pub group: GroupName,
    pub zone: Zone,
}

/// The claim of a commitment for cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoresClaim {
    pub place: GroupAndZone,
    pub cores: Cores,
    /// How many there are at all: those of the empty data centre.
    pub total: Cores,
}

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimResult {
    /// It fits, and is held until [`Ledger::end`].
    Enough,
    Short {
        /// Cores that are left; below zero when more was accepted than there is now.
        available: Cores,
        /// It would fit without decisions that no object shows yet. Those may still fail, so they are no reason to
        /// reject a commitment.
        provisional: bool,
    },
}

/// Decisions that no object shows yet, by commitment.
#[derive(Debug, Default)]
pub struct Ledger {
    decided: BTreeMap<ObjectKey, Entry>,
}

#[derive(Debug)]
struct Entry {
    place: GroupAndZone,
    cores: Cores,
    in_doubt: bool,
    /// A commitment was refused because of it, and must be enqueued at its end.
    in_the_way: bool,
}

impl GroupAndZone {
    pub fn of(spec: &Spec) -> Self {
        Self { group: spec.group.clone(), zone: spec.zone.clone() }
    }

    pub(crate) fn indexed(&self) -> String {
        berth_cluster::indexes::place(self.group.as_str(), self.zone.as_str())
    }
}

impl Ledger {
    /// Decides about a claim. `shown` are the accepted cores of the place, as objects show them. A commitment that is
    /// shown with one amount and decided with another counts with the larger one, because its write may fail or
    /// succeed. The cores that the commitment holds itself do not count against it.
    pub fn take(&mut self, key: &ObjectKey, claim: &CoresClaim, shown: &BTreeMap<ObjectKey, Cores>) -> ClaimResult {
        let result = self.check(key, claim, shown);
        match result {
            ClaimResult::Enough => {
                let (place, cores) = (claim.place.clone(), claim.cores);
                self.decided.insert(key.clone(), Entry { place, cores, in_doubt: false, in_the_way: false });
            }
            ClaimResult::Short { .. } => self.be_in_the_way(key, &claim.place),
        }
        result
    }

    /// The same without giving anything out.
    pub fn check(&self, key: &ObjectKey, claim: &CoresClaim, shown: &BTreeMap<ObjectKey, Cores>) -> ClaimResult {
        let shown: BTreeMap<_, _> = shown.iter().filter(|(other, _)| *other != key).collect();
        let mut committed = shown.clone();
        for (other, entry) in self.decided.iter().filter(|(other, entry)| *other != key && entry.place == claim.place) {
            let known = committed.entry(other).or_insert(&Cores::ZERO);
            *known = (*known).max(&entry.cores);
        }
        let left = |of: &BTreeMap<_, &Cores>| claim.total - of.values().map(|cores| **cores).sum();
        let available = left(&committed);
        if claim.cores <= available {
            return ClaimResult::Enough;
        }
        ClaimResult::Short { available, provisional: claim.cores <= left(&shown) }
    }

    /// An object shows the decision about a commitment, or never will. Returns the place whose waiting commitments must
    /// be enqueued.
    pub fn end(&mut self, key: &ObjectKey) -> Option<GroupAndZone> {
        let ended = self.decided.remove(key)?;
        ended.in_the_way.then_some(ended.place)
    }

    /// It is unknown whether the decision about a commitment was written: it counts until the object was read again.
    pub fn doubt(&mut self, key: &ObjectKey) {
        if let Some(entry) = self.decided.get_mut(key) {
            entry.in_doubt = true;
        }
    }

    /// Ends decisions that are no longer in doubt, as [`Ledger::end`] does.
    pub fn settle(&mut self, in_doubt: impl Fn(&ObjectKey) -> bool) -> Vec<GroupAndZone> {
        let doubted = self.decided.iter().filter(|(_, entry)| entry.in_doubt);
        let settled: Vec<_> = doubted.map(|(key, _)| key.clone()).filter(|key| !in_doubt(key)).collect();
        settled.iter().filter_map(|key| self.end(key)).collect()
    }

    /// True when everything that was decided is shown.
    pub fn is_empty(&self) -> bool {
        self.decided.is_empty()
    }

    fn be_in_the_way(&mut self, of: &ObjectKey, place: &GroupAndZone) {
        let others = self.decided.iter_mut().filter(|(key, entry)| *key != of && entry.place == *place);
        others.for_each(|(_, entry)| entry.in_the_way = true);
    }
}

#[cfg(test)]
mod tests;
