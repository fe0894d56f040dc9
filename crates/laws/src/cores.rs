//! Cores of a flavor group in a zone: how many there are and who holds them, written anew and on purpose without the
//! ledger, which it judges.

use std::collections::BTreeMap;

use berth_crds::{CommitmentState, CommittedResource, Time, conditions, resources};

use crate::amounts::{amount, offered};
use crate::snapshot::{Place, accepted_cores, place};
use crate::{Key, Law, Snapshot, Violation};

/// The cores of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// What there is; nothing when nobody says it.
    pub(crate) total: Option<i128>,
    /// Who was accepted there, by UUID.
    pub(crate) holders: BTreeMap<String, Holder>,
}

/// Who was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// With so many cores.
    pub(crate) cores: i128,
    /// And holds them, because it has begun and is not over.
    pub(crate) counts: bool,
}

impl Sheet {
    /// What is held.
    pub(crate) fn held(&self) -> i128 {
        self.holders.values().filter(|holder| holder.counts).map(|holder| holder.cores).sum()
    }

    /// What is held and not there.
    pub(crate) fn short(&self) -> i128 {
        self.total.map_or(0, |total| (self.held() - total).max(0))
    }
}

/// The cores of a place as the objects have it. Of several objects about it the first by name counts.
pub(crate) fn sheet(snapshot: &Snapshot, place: &Place) -> Sheet {
    let accepted: Vec<_> = snapshot.accepted_in(place).collect();
    let newest = accepted.iter().filter_map(|(_, object)| accepted_at(object)).max();
    let mut sheet = Sheet { total: total(snapshot, place).map(|(_, total)| total), ..Sheet::default() };
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

/// More is accepted than there is.
pub(crate) fn oversold(snapshot: &Snapshot, allowed: i128, place: &Place) -> Option<Violation> {
    let (key, total) = total(snapshot, place)?;
    let sheet = sheet(snapshot, place);
    let (short, held) = (sheet.short(), sheet.held());
    let text = || {
        format!("{short} cores too many are accepted: it has {total}, commitments hold {held}, others took {allowed}")
    };
    (short > allowed).then(|| Violation::new(Law::CoresOversold, key, text()))
}

/// A commitment waits for cores that are there.
pub(crate) fn idle(snapshot: &Snapshot, key: &Key, object: &CommittedResource) -> Option<Violation> {
    let ready = conditions::ready(&object.status.as_ref()?.conditions)?;
    if ready.reason != "Reserving" || !ready.message.starts_with("insufficient CPU cores") {
        return None;
    }
    let place = place(&object.spec);
    let others = sheet(snapshot, &place);
    let others = Sheet {
        holders: others.holders.into_iter().filter(|(uuid, _)| *uuid != object.spec.commitment_uuid).collect(),
        ..others
    };
    let (wanted, left) = (amount(&object.spec.amount), others.total? - others.held());
    let text = || format!("it waits for {wanted} cores, and {left} are left");
    (wanted <= left).then(|| Violation::new(Law::CoresIdle, key, text()))
}

fn total<'a>(snapshot: &'a Snapshot, place: &Place) -> Option<(&'a Key, i128)> {
    let (key, object) = snapshot.capacities_of(place).min_by_key(|(key, _)| (&key.name, &key.cluster))?;
    Some((key, offered(&object.status.as_ref()?.total_capacity, resources::CORES)?))
}

/// Laws have no clock: what had ended when somebody was accepted last did not count then.
fn counts(snapshot: &Snapshot, key: &Key, object: &CommittedResource, newest: Option<&Time>) -> bool {
    let wanted = [CommitmentState::Pending, CommitmentState::Guaranteed, CommitmentState::Confirmed];
    let ended = object.spec.end_time.as_ref().is_some_and(|end| newest.is_some_and(|newest| end <= newest));
    // Before one of two objects in two clusters says that the other is served, nobody can tell which one is.
    let served = matches!(&snapshot.served(&object.spec.commitment_uuid)[..], [(served, _)] if *served == key);
    wanted.contains(&object.spec.state)
        && object.metadata.deletion_timestamp.is_none()
        && !ended
        && !is_said_to_be_over(object)
        && served
}

fn is_said_to_be_over(object: &CommittedResource) -> bool {
    let ready = object.status.as_ref().and_then(|status| conditions::ready(&status.conditions));
    ready.is_some_and(|ready| {
        ready.observed_generation == object.metadata.generation && ["superseded", "expired"].contains(&&*ready.reason)
    })
}

fn accepted_at(object: &CommittedResource) -> Option<&Time> {
    object.status.as_ref()?.accepted_at.as_ref()
}
