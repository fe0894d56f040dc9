//! The cores of the whole process: how many there are, who holds them, and the lock under which they are given out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_cluster::indexes::{
    CAPACITY_BY_PLACE, CHANGE_BY_ZONE, COMMITMENT_BY_CORES, COMMITMENT_BY_UUID, rank_in_place,
};
use berth_cluster::{Entry, InvalidEntry, ObjectKey, Pauses, Requests, Routes, Store};
use berth_core::commitment::{Phase, ResourceType, Spec};
use berth_core::{ClusterName, Cores};
use berth_crds::commitment_change::{ChangeItem, ChangePhase};
use berth_crds::{CommitmentChange, CommittedResource, FlavorGroupCapacity, facts};
use berth_telemetry::clock::TrustedTime;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tracing::warn;

use crate::block_reason::BlockReason;
use crate::facts::Capacity;
use crate::ledger::{ClaimResult, CoresClaim, GroupAndZone, Ledger};
use crate::served::served_instead;
use crate::watches::waiting_for_cores;

mod held;

pub(crate) use held::{Held, held, reported_time};

/// Counts and gives out cores.
pub struct CoresBook {
    ledger: Mutex<Ledger>,
    commitments: Store<CommittedResource>,
    capacities: Store<FlavorGroupCapacity>,
    changes: Store<CommitmentChange>,
    routes: Routes,
    pauses: Pauses,
    requests: Requests<ObjectKey>,
    /// Places with several objects about their cores; each is logged once.
    ambiguous: Mutex<BTreeSet<GroupAndZone>>,
}

impl CoresBook {
    /// The objects with the number of cores.
    pub(crate) fn capacities(&self) -> &Store<FlavorGroupCapacity> {
        &self.capacities
    }

    /// A book without decisions. Commitments that wait for cores are enqueued in `requests` when a decision of this
    /// process has failed.
    pub fn new(
        commitments: Store<CommittedResource>,
        capacities: Store<FlavorGroupCapacity>,
        changes: Store<CommitmentChange>,
        routes: Routes,
        pauses: Pauses,
        requests: Requests<ObjectKey>,
    ) -> Self {
        let (ledger, ambiguous) = Default::default();
        Self { ledger, commitments, capacities, changes, routes, pauses, requests, ambiguous }
    }

    /// True when everything that was decided is shown by objects.
    pub fn is_empty(&self) -> bool {
        self.ledger.lock().is_empty()
    }

    /// The cores of a place, for a commitment in `cluster`. An incomplete read never causes a rejection.
    pub(crate) fn capacity(&self, place: &GroupAndZone, cluster: &ClusterName) -> Capacity {
        match self.object(place, cluster) {
            Err(why) => Capacity::Unknown(why),
            Ok(None) => Capacity::NoObject,
            Ok(Some(entry)) => match facts::total_cores(&entry.object) {
                Ok(Some(total)) => Capacity::Total(total),
                Ok(None) => Capacity::NoCores(entry.key.name.to_string()),
                Err(error) => Capacity::Unknown(BlockReason::NoTotal { name: entry.key.name.to_string(), error }),
            },
        }
    }

    /// Decides about a claim at `now`; with an untrusted clock nothing has ended. Cores that are given out are held until the reconciliation has ended
    /// ([`CoresBook::start_reconciliation`]).
    pub(crate) fn take(&self, key: &ObjectKey, claim: &CoresClaim, now: TrustedTime) -> ClaimResult {
        let mut ledger = self.ledger.lock();
        let settled = ledger.settle(|key| self.commitments.in_doubt(key));
        let mut shown = self.shown(&claim.place, now.unwrap_or(Timestamp::MIN));
        self.count_open_changes(key, &claim.place, &mut shown);
        let verdict = ledger.take(key, claim, &shown);
        drop(ledger);
        for place in &settled {
            self.enqueue_waiting(place, key);
        }
        verdict
    }

    /// Guard for one reconciliation of a commitment. When the reconciliation ends, its decision is removed, unless the
    /// outcome of its write is unknown. By then the store shows a write that succeeded.
    pub(crate) fn start_reconciliation(self: &Arc<Self>, key: &ObjectKey) -> CoresReconciliation {
        CoresReconciliation { book: self.clone(), key: key.clone() }
    }

    fn end_reconciliation(&self, key: &ObjectKey) {
        if self.commitments.in_doubt(key) {
            return self.ledger.lock().doubt(key);
        }
        let place = self.ledger.lock().end(key);
        if let Some(place) = place {
            self.enqueue_waiting(&place, key);
        }
    }

    fn enqueue_waiting(&self, place: &GroupAndZone, except: &ObjectKey) {
        let mut keys = waiting_for_cores(place, &self.commitments);
        keys.retain(|key| key != except);
        self.requests.add(keys);
    }

    /// The first object by name, then by cluster.
    fn object(
        &self,
        place: &GroupAndZone,
        cluster: &ClusterName,
    ) -> Result<Option<Entry<FlavorGroupCapacity>>, BlockReason> {
        let zone = Some(place.zone.as_str());
        let serving = self.routes.target::<FlavorGroupCapacity>(zone)?;
        self.capacities.require_synced(&serving)?;
        self.commitments.require_synced(cluster)?;
        if let Some(one) = self.capacities.invalid_entries().iter().find(|one| may_concern(one, place)) {
            let (name, error) = (one.key.name.to_string(), one.error.to_string());
            return Err(BlockReason::UnreadableCapacity { name, error });
        }
        let mut found = self.capacities.select(&CAPACITY_BY_PLACE, &place.indexed());
        found.sort_by(|a, b| rank_in_place(&a.key).cmp(&rank_in_place(&b.key)));
        self.remark(place, &found);
        Ok(found.into_iter().next())
    }

    fn remark(&self, place: &GroupAndZone, found: &[Entry<FlavorGroupCapacity>]) {
        let mut known = self.ambiguous.lock();
        if found.len() < 2 {
            known.remove(place);
        } else if known.insert(place.clone()) {
            let (group, zone, names) = (&place.group, &place.zone, found.iter().map(|entry| &*entry.key.name));
            let names = names.collect::<Vec<_>>().join(", ");
            warn!(%group, %zone, names, "several FlavorGroupCapacity objects for one group and zone; the first counts, delete the others");
        }
    }

    /// Accepted cores of served commitments, each in the place in which it was accepted.
    fn shown(&self, place: &GroupAndZone, now: Timestamp) -> BTreeMap<ObjectKey, Cores> {
        let entries = self.commitments.select(&COMMITMENT_BY_CORES, &place.indexed());
        let served =
            |entry: &Entry<_>| served_instead(&self.commitments, &self.routes, &entry.key, &entry.object).is_none();
        let paused = |object| self.pauses.commitment(object).is_some();
        let held = entries.iter().filter_map(|entry| Some((entry, held(&entry.object, now, paused(&entry.object))?)));
        let here = held.filter(|(entry, held)| held.place == *place && served(entry));
        let mut shown: BTreeMap<_, _> = here.map(|(entry, held)| (entry.key.clone(), held.cores)).collect();
        let invalid =
            self.commitments.invalid_entries().into_iter().filter(|one| self.commitments.get(&one.key).is_none());
        shown.extend(invalid.filter_map(|one| Some((one.key.clone(), held::unreadable(&one.raw, place)?))));
        shown
    }
}

// Cores in open changes. What a commitment releases there counts as held until the change is accepted, because a roll-back
// needs it again; only the others in the same change may have it.

impl CoresBook {
    /// What [`CoresBook::take`] would answer to the commitments of a change, one after the other. `wanted` says what each of
    /// them shall have.
    pub(crate) fn check_change(
        &self,
        claims: &[(ObjectKey, CoresClaim)],
        wanted: &BTreeMap<ObjectKey, Option<Spec>>,
        now: TrustedTime,
    ) -> Vec<ClaimResult> {
        let ledger = self.ledger.lock();
        let mut given: BTreeMap<&ObjectKey, &CoresClaim> = BTreeMap::new();
        let mut results = Vec::new();
        for (key, claim) in claims {
            let mut shown = self.shown(&claim.place, now.unwrap_or(Timestamp::MIN));
            self.count_open_changes(key, &claim.place, &mut shown);
            for (member, spec) in wanted {
                let after = spec.as_ref().and_then(|spec| cores_in(spec, &claim.place)).unwrap_or_default();
                shown.entry(member.clone()).and_modify(|held| *held = (*held).min(after));
            }
            let here = given.iter().filter(|(_, given)| given.place == claim.place);
            shown.extend(here.map(|(key, given)| (ObjectKey::clone(key), given.cores)));
            let result = ledger.check(key, claim, &shown);
            if result == ClaimResult::Enough {
                given.insert(key, claim);
            }
            results.push(result);
        }
        results
    }

    fn count_open_changes(&self, key: &ObjectKey, place: &GroupAndZone, shown: &mut BTreeMap<ObjectKey, Cores>) {
        let open = self.changes.select(&CHANGE_BY_ZONE, place.zone.as_str());
        for change in open.iter().filter(|change| is_undecided(change.object.phase())) {
            let own = change.object.spec.items.iter().any(|item| self.objects_of(item).contains(key));
            for item in &change.object.spec.items {
                let was_in_force =
                    facts::spec_before(item).is_some_and(|spec| spec.phase(Timestamp::MIN) == Phase::Wanted);
                let before = facts::accepted_spec_before(item).filter(|_| was_in_force);
                let before = before.and_then(|spec| cores_in(&spec, place));
                let after = facts::spec_after(item).and_then(|spec| cores_in(&spec, place)).unwrap_or_default();
                for object in self.objects_of(item) {
                    if !own {
                        let held = shown.entry(object).or_default();
                        *held = (*held).max(before.unwrap_or_default());
                    } else if let Some(held) = shown.get_mut(&object) {
                        *held = (*held).min(after.max(Cores::ZERO));
                    }
                }
            }
        }
    }

    fn objects_of(&self, item: &ChangeItem) -> Vec<ObjectKey> {
        let named = self.commitments.select(&COMMITMENT_BY_UUID, &item.commitment_uuid);
        named.into_iter().map(|entry| entry.key).collect()
    }
}

/// Until a change is accepted, what it releases is not free.
fn is_undecided(phase: ChangePhase) -> bool {
    matches!(phase, ChangePhase::Pending | ChangePhase::Applying | ChangePhase::RollingBack | ChangePhase::Failed)
}

/// The cores that a spec holds in a place.
pub(crate) fn cores_in(spec: &Spec, place: &GroupAndZone) -> Option<Cores> {
    let holds = spec.resource == ResourceType::Cores && spec.phase(Timestamp::MIN) == Phase::Wanted;
    (holds && GroupAndZone::of(spec) == *place).then(|| spec.cores())
}

/// See [`CoresBook::start_reconciliation`].
pub(crate) struct CoresReconciliation {
    book: Arc<CoresBook>,
    key: ObjectKey,
}

impl Drop for CoresReconciliation {
    fn drop(&mut self) {
        self.book.end_reconciliation(&self.key);
    }
}

/// An object whose spec cannot be read may be about any place.
fn may_concern(one: &InvalidEntry, place: &GroupAndZone) -> bool {
    let spec = &one.raw["spec"];
    let may_be = |value: &Value, name: &str| value.as_str().is_none_or(|text| text == name);
    may_be(&spec["flavorGroup"], place.group.as_str()) && may_be(&spec["availabilityZone"], place.zone.as_str())
}

#[cfg(test)]
mod tests;
