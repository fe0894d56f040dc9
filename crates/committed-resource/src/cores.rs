//! Cores of the whole process: how many there are, who holds them, and the one lock under which they are given out. It
//! gathers what objects show and asks the ledger; which commitment asks for what is planned elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_cluster::indexes::{CAPACITY_BY_PLACE, COMMITMENT_BY_CORES};
use berth_cluster::{Entry, Freezer, Malformed, ObjectKey, Requests, Routes, Store};
use berth_core::{ClusterName, Cores};
use berth_crds::{CommittedResource, FlavorGroupCapacity, facts};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tracing::warn;

use crate::facts::Capacity;
use crate::hindrance::Hindrance;
use crate::ledger::{Claim, Ledger, Place, Verdict};
use crate::served::served_instead;
use crate::watches::waiting_for_cores;

mod held;

pub(crate) use held::{Held, held};

/// Counts and gives out cores.
pub struct CoresBook {
    ledger: Mutex<Ledger>,
    commitments: Store<CommittedResource>,
    capacities: Store<FlavorGroupCapacity>,
    routes: Routes,
    freezer: Freezer,
    requests: Requests<ObjectKey>,
    /// Where several objects say what there is; each is logged once.
    ambiguous: Mutex<BTreeSet<Place>>,
}

impl CoresBook {
    /// The objects that say how many cores there are.
    pub(crate) fn capacities(&self) -> &Store<FlavorGroupCapacity> {
        &self.capacities
    }

    /// A book in which nothing is decided yet. Commitments that wait for cores are enqueued in `requests` when a decision of
    /// this process has come to nothing.
    pub fn new(
        commitments: Store<CommittedResource>,
        capacities: Store<FlavorGroupCapacity>,
        routes: Routes,
        freezer: Freezer,
        requests: Requests<ObjectKey>,
    ) -> Self {
        let (ledger, ambiguous) = Default::default();
        Self { ledger, commitments, capacities, routes, freezer, requests, ambiguous }
    }

    /// True when everything that was decided is shown by objects.
    pub fn is_empty(&self) -> bool {
        self.ledger.lock().is_empty()
    }

    /// What there is in a place, for a commitment in `cluster`. A read that is not complete is never the reason for a
    /// refusal.
    pub(crate) fn capacity(&self, place: &Place, cluster: &ClusterName) -> Capacity {
        match self.object(place, cluster) {
            Err(why) => Capacity::Unknown(why),
            Ok(None) => Capacity::NoObject,
            Ok(Some(entry)) => match facts::total_cores(&entry.object) {
                Ok(Some(total)) => Capacity::Total(total),
                Ok(None) => Capacity::NoCores(entry.key.name.to_string()),
                Err(error) => Capacity::Unknown(Hindrance::NoTotal { name: entry.key.name.to_string(), error }),
            },
        }
    }

    /// Decides about a claim at `now`. What is given out is held until the look has ended ([`CoresBook::looking`]).
    pub(crate) fn take(&self, key: &ObjectKey, claim: &Claim, now: Timestamp) -> Verdict {
        let mut ledger = self.ledger.lock();
        let settled = ledger.settle(|key| self.commitments.in_doubt(key));
        let verdict = ledger.take(key, claim, &self.shown(&claim.place, now));
        drop(ledger);
        for place in &settled {
            self.enqueue_waiting(place, key);
        }
        verdict
    }

    /// For the time of a look at a commitment: when it ends, however it does, so does what it took, unless nobody knows
    /// whether it was written. What was written the store shows by then.
    pub(crate) fn looking(self: &Arc<Self>, key: &ObjectKey) -> Looking {
        Looking { book: self.clone(), key: key.clone() }
    }

    fn looked(&self, key: &ObjectKey) {
        if self.commitments.in_doubt(key) {
            return self.ledger.lock().doubt(key);
        }
        let place = self.ledger.lock().end(key);
        if let Some(place) = place {
            self.enqueue_waiting(&place, key);
        }
    }

    fn enqueue_waiting(&self, place: &Place, except: &ObjectKey) {
        let mut keys = waiting_for_cores(place, &self.commitments);
        keys.retain(|key| key != except);
        self.requests.add(keys);
    }

    /// The first object by name, then by cluster.
    fn object(&self, place: &Place, cluster: &ClusterName) -> Result<Option<Entry<FlavorGroupCapacity>>, Hindrance> {
        let zone = Some(place.zone.as_str());
        let serving = self.routes.target::<FlavorGroupCapacity>(zone)?;
        self.capacities.followed(&serving)?;
        self.commitments.followed(cluster)?;
        if let Some(one) = self.capacities.malformed().iter().find(|one| may_be_about(one, place)) {
            let (name, error) = (one.key.name.to_string(), one.error.to_string());
            return Err(Hindrance::UnreadableCapacity { name, error });
        }
        let mut found = self.capacities.select(&CAPACITY_BY_PLACE, &place.indexed());
        found.sort_by(|a, b| (&a.key.name, &a.key.cluster).cmp(&(&b.key.name, &b.key.cluster)));
        self.remark(place, &found);
        Ok(found.into_iter().next())
    }

    fn remark(&self, place: &Place, found: &[Entry<FlavorGroupCapacity>]) {
        let mut known = self.ambiguous.lock();
        if found.len() < 2 {
            known.remove(place);
        } else if known.insert(place.clone()) {
            let (group, zone, names) = (&place.group, &place.zone, found.iter().map(|entry| &*entry.key.name));
            let names = names.collect::<Vec<_>>().join(", ");
            warn!(%group, %zone, names, "several FlavorGroupCapacity objects are about this, the first counts; delete the others");
        }
    }

    /// Accepted cores of served commitments, each in the place in which it was accepted.
    fn shown(&self, place: &Place, now: Timestamp) -> BTreeMap<ObjectKey, Cores> {
        let entries = self.commitments.select(&COMMITMENT_BY_CORES, &place.indexed());
        let served =
            |entry: &Entry<_>| served_instead(&self.commitments, &self.routes, &entry.key, &entry.object).is_none();
        let frozen = |object| self.freezer.commitment(object).is_some();
        let held =
            entries.iter().filter_map(|entry| Some((entry, held(&entry.object, Some(now), frozen(&entry.object))?)));
        let here = held.filter(|(entry, held)| held.place == *place && served(entry));
        let mut shown: BTreeMap<_, _> = here.map(|(entry, held)| (entry.key.clone(), held.cores)).collect();
        let malformed = self.commitments.malformed().into_iter().filter(|one| self.commitments.get(&one.key).is_none());
        shown.extend(malformed.filter_map(|one| Some((one.key.clone(), held::unreadable(&one.raw, place)?))));
        shown
    }
}

/// See [`CoresBook::looking`].
pub(crate) struct Looking {
    book: Arc<CoresBook>,
    key: ObjectKey,
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.book.looked(&self.key);
    }
}

/// An object whose spec cannot be read may be about any place.
fn may_be_about(one: &Malformed, place: &Place) -> bool {
    let spec = &one.raw["spec"];
    let may_be = |value: &Value, name: &str| value.as_str().is_none_or(|text| text == name);
    may_be(&spec["flavorGroup"], place.group.as_str()) && may_be(&spec["availabilityZone"], place.zone.as_str())
}

#[cfg(test)]
mod tests;
