//! Mapping functions: which commitments wait for cores, and which changes may end that.

use std::collections::BTreeSet;

use berth_cluster::indexes::COMMITMENT_BY_CORES;
use berth_cluster::{Change, ObjectKey, Store};
use berth_core::Cores;
use berth_core::commitment::ResourceType;
use berth_core::host::ConditionStatus;
use berth_crds::conditions::commitment::Reason;
use berth_crds::{CommittedResource, FlavorGroupCapacity, facts, labels};
use kube::ResourceExt;

use crate::cores::{Held, held, reported_time};
use crate::facts::ready;
use crate::ledger::GroupAndZone;

/// A capacity object concerns those that wait for cores of its group in its zone. One that was never readable may be about
/// any.
pub fn map_capacity(
    change: &Change<FlavorGroupCapacity>,
    commitments: &Store<CommittedResource>,
) -> BTreeSet<ObjectKey> {
    if change.old.is_none() && change.new.is_none() {
        let all = commitments.all().into_iter().filter(|entry| waits(&entry.object));
        return all.map(|entry| entry.key).collect();
    }
    let objects = [&change.old, &change.new].into_iter().flatten();
    objects.flat_map(|object| waiting_for_cores(&place(object), commitments)).collect()
}

/// A commitment that holds fewer cores in a place than before concerns those that wait there.
pub(super) fn map_freed_cores(
    change: &Change<CommittedResource>,
    commitments: &Store<CommittedResource>,
) -> Vec<ObjectKey> {
    let (old, new) = (counted(change.old.as_deref()), counted(change.new.as_deref()));
    let Some(old) = old else { return Vec::new() };
    let kept = new.filter(|new| new.place == old.place).map_or(Cores::ZERO, |new| new.cores);
    if kept < old.cores { waiting_for_cores(&old.place, commitments) } else { Vec::new() }
}

/// Those that want cores of a place, have not got them, and have not been refused for good.
pub(crate) fn waiting_for_cores(place: &GroupAndZone, commitments: &Store<CommittedResource>) -> Vec<ObjectKey> {
    let entries = commitments.select(&COMMITMENT_BY_CORES, &place.indexed()).into_iter();
    let here = entries.filter(|entry| waits(&entry.object) && GroupAndZone::of(&facts::spec(&entry.object)) == *place);
    here.map(|entry| entry.key).collect()
}

fn waits(object: &CommittedResource) -> bool {
    let reported =
        ready(object).filter(|ready| ready.observed_generation == object.metadata.generation.unwrap_or_default());
    let settled =
        reported.is_some_and(|ready| ready.status == ConditionStatus::True || ready.reason == Some(Reason::Rejected));
    facts::spec(object).resource == ResourceType::Cores && !settled
}

/// The cores that it holds, unless another object with the UUID is served.
fn counted(object: Option<&CommittedResource>) -> Option<Held> {
    let object = object.filter(|object| !facts::is_duplicate(object))?;
    held(object, reported_time(object), labels::pause_annotation(object.annotations()).is_some())
}

fn place(object: &FlavorGroupCapacity) -> GroupAndZone {
    GroupAndZone {
        group: object.spec.flavor_group.as_str().into(),
        zone: object.spec.availability_zone.as_str().into(),
    }
}

#[cfg(test)]
mod tests;
