//! The ledger of cores: what was decided and is not shown by objects yet. It decides whether a request fits into what
//! is left, so that no two decisions give out the same cores, and it leaves to others what objects show, and when a
//! decision has been written.

use std::collections::BTreeMap;

use berth_cluster::ObjectKey;
use berth_core::commitment::Spec;
use berth_core::{Cores, GroupName, Zone};

/// Where cores are counted: a flavor group in a zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The flavor group.
    pub group: GroupName,
    /// The availability zone.
    pub zone: Zone,
}

/// Cores that a commitment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where.
    pub place: Place,
    /// How many.
    pub cores: Cores,
    /// How many there are at all: those of the empty data centre.
    pub total: Cores,
}

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits, and is held until [`Ledger::end`].
    Enough,
    /// It does not fit.
    Short {
        /// Cores that are left; below zero when more was accepted than there is now.
        available: Cores,
        /// It would fit without what is decided and not shown yet. That may still come to nothing, so it is no reason
        /// to reject anybody.
        provisional: bool,
    },
}

/// What was decided and is not shown yet, by commitment.
#[derive(Debug, Default)]
pub struct Ledger {
    decided: BTreeMap<ObjectKey, Entry>,
}

#[derive(Debug)]
struct Entry {
    place: Place,
    cores: Cores,
    /// Nobody knows whether it was written.
    in_doubt: bool,
    /// Somebody was told that there is not enough because of it, and has to hear of its end.
    in_the_way: bool,
}

impl Place {
    /// The place of a spec.
    pub fn of(spec: &Spec) -> Self {
        Self { group: spec.group.clone(), zone: spec.zone.clone() }
    }

    /// The value of indexes.
    pub(crate) fn indexed(&self) -> String {
        berth_cluster::indexes::place(self.group.as_str(), self.zone.as_str())
    }
}

impl Ledger {
    /// Decides about a claim. `shown` are the accepted cores of the place, as objects show them. A commitment that is
    /// shown with one amount and decided with another counts with the larger one: its write may fail or succeed. What
    /// the commitment holds itself does not count against it.
    pub fn take(&mut self, key: &ObjectKey, claim: &Claim, shown: &BTreeMap<ObjectKey, Cores>) -> Verdict {
        let shown: BTreeMap<_, _> = shown.iter().filter(|(other, _)| *other != key).collect();
        let mut committed = shown.clone();
        for (other, entry) in self.decided.iter().filter(|(other, entry)| *other != key && entry.place == claim.place) {
            let known = committed.entry(other).or_insert(&Cores::ZERO);
            *known = (*known).max(&entry.cores);
        }
        let left = |of: &BTreeMap<_, &Cores>| claim.total - of.values().map(|cores| **cores).sum();
        let available = left(&committed);
        if claim.cores <= available {
            let entry = Entry { place: claim.place.clone(), cores: claim.cores, in_doubt: false, in_the_way: false };
            self.decided.insert(key.clone(), entry);
            return Verdict::Enough;
        }
        let provisional = claim.cores <= left(&shown);
        self.be_in_the_way(key, &claim.place);
        Verdict::Short { available, provisional }
    }

    /// The decision about a commitment is shown, or will never be. Gives the place whose waiting commitments have to hear
    /// of that.
    pub fn end(&mut self, key: &ObjectKey) -> Option<Place> {
        let ended = self.decided.remove(key)?;
        ended.in_the_way.then_some(ended.place)
    }

    /// Nobody knows whether the decision about a commitment was written: it counts until that was looked up.
    pub fn doubt(&mut self, key: &ObjectKey) {
        if let Some(entry) = self.decided.get_mut(key) {
            entry.in_doubt = true;
        }
    }

    /// Ends what is in doubt no more, as [`Ledger::end`] does.
    pub fn settle(&mut self, in_doubt: impl Fn(&ObjectKey) -> bool) -> Vec<Place> {
        let doubted = self.decided.iter().filter(|(_, entry)| entry.in_doubt);
        let settled: Vec<_> = doubted.map(|(key, _)| key.clone()).filter(|key| !in_doubt(key)).collect();
        settled.iter().filter_map(|key| self.end(key)).collect()
    }

    /// True when everything that was decided is shown.
    pub fn is_empty(&self) -> bool {
        self.decided.is_empty()
    }

    fn be_in_the_way(&mut self, of: &ObjectKey, place: &Place) {
        let others = self.decided.iter_mut().filter(|(key, entry)| *key != of && entry.place == *place);
        others.for_each(|(_, entry)| entry.in_the_way = true);
    }
}

#[cfg(test)]
mod tests;
