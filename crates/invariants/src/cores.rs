//! The cores of a flavor group in a zone: how many there are and who holds them. This is independent of the ledger,
//! which it checks.

use std::collections::BTreeMap;

use berth_crds::{CommitmentState, CommittedResource, Time, conditions, resources};

use crate::amounts::{amount, offered};
use crate::snapshot::{GroupAndZone, accepted_cores, group_and_zone};
use crate::{Invariant, Key, Snapshot, Violation};

/// The cores of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoresOfPlace {
    /// The total, if it is known.
    pub(crate) total: Option<i128>,
    pub(crate) holders: BTreeMap<String, Holder>,
}

/// An accepted commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) cores: i128,
    /// And holds them, because it has begun and is not over.
    pub(crate) counts: bool,
}

impl CoresOfPlace {
    pub(crate) fn held(&self) -> i128 {
        self.holders.values().filter(|holder| holder.counts).map(|holder| holder.cores).sum()
    }

    pub(crate) fn short(&self) -> i128 {
        self.total.map_or(0, |total| (self.held() - total).max(0))
    }
}

/// The cores of a place according to the objects. If several objects are about it, the first by name counts.
pub(crate) fn sheet(snapshot: &Snapshot, place: &GroupAndZone) -> CoresOfPlace {
    let accepted: Vec<_> = snapshot.accepted_in(place).collect();
    let newest = accepted.iter().filter_map(|(_, object)| accepted_at(object)).max();
    let mut sheet = CoresOfPlace { total: total(snapshot, place).map(|(_, total)| total), ..CoresOfPlace::default() };
    for (key, object) in accepted {
        let Some(spec) = accepted_cores(object) else { continue };
        let holder = Holder { cores: amount(&spec.amount), counts: counts(snapshot, key, object, newest) };
        let uuid = object.spec.commitment_uuid.clone();
        let known = sheet.holders.entry(uuid).or_insert(holder);
        if (known.counts, known.cores) < (holder.counts, holder.cores) {
            *known = holder;
        }
    }
    sheet
}

pub(crate) fn oversold(snapshot: &Snapshot, allowed: i128, place: &GroupAndZone) -> Option<Violation> {
    let (key, total) = total(snapshot, place)?;
    let sheet = sheet(snapshot, place);
    let (short, held) = (sheet.short(), sheet.held());
    let text = || {
        format!("{short} cores too many are accepted: it has {total}, commitments hold {held}, others took {allowed}")
    };
    (short > allowed).then(|| Violation::new(Invariant::CoresOversold, key, text()))
}

/// A commitment waits for cores that are there.
pub(crate) fn idle(snapshot: &Snapshot, key: &Key, object: &CommittedResource) -> Option<Violation> {
    let ready = conditions::ready(&object.status.as_ref()?.conditions)?;
    if ready.reason != "Reserving" || !ready.message.starts_with("insufficient CPU cores") {
        return None;
    }
    let place = group_and_zone(&object.spec);
    let others = sheet(snapshot, &place);
    let others = CoresOfPlace {
        holders: others.holders.into_iter().filter(|(uuid, _)| *uuid != object.spec.commitment_uuid).collect(),
        ..others
    };
    let (wanted, left) = (amount(&object.spec.amount), others.total? - others.held());
    let text = || format!("it waits for {wanted} cores, and {left} are left");
    (wanted <= left).then(|| Violation::new(Invariant::CoresIdle, key, text()))
}

fn total<'a>(snapshot: &'a Snapshot, place: &GroupAndZone) -> Option<(&'a Key, i128)> {
    let (key, object) = snapshot.capacities_of(place).min_by_key(|(key, _)| (&key.name, &key.cluster))?;
    Some((key, offered(&object.status.as_ref()?.total_capacity, resources::CORES)?))
}

/// Invariants have no clock: what had ended at the last acceptance did not count then.
fn counts(snapshot: &Snapshot, key: &Key, object: &CommittedResource, newest: Option<&Time>) -> bool {
    let wanted = [CommitmentState::Pending, CommitmentState::Guaranteed, CommitmentState::Confirmed];
    let ended = object.spec.end_time.as_ref().is_some_and(|end| newest.is_some_and(|newest| end <= newest));
    // Until one of two objects in two clusters reports the other as served, it is unknown which one is.
    let served = matches!(&snapshot.served(&object.spec.commitment_uuid)[..], [(served, _)] if *served == key);
    wanted.contains(&object.spec.state)
        && object.metadata.deletion_timestamp.is_none()
        && !ended
        && !is_reported_to_be_over(object)
        && served
}

pub(crate) fn is_reported_to_be_over(object: &CommittedResource) -> bool {
    let ready = object.status.as_ref().and_then(|status| conditions::ready(&status.conditions));
    ready.is_some_and(|ready| {
        ready.observed_generation == object.metadata.generation && ["superseded", "expired"].contains(&&*ready.reason)
    })
}

fn accepted_at(object: &CommittedResource) -> Option<&Time> {
    object.status.as_ref()?.accepted_at.as_ref()
}
