//! The invariant of finished changes of commitments: all or nothing.

use berth_crds::commitment_change::{ChangeItem, ChangePhase};
use berth_crds::{CommitmentChange, CommittedResource, labels, resources};
use kube::ResourceExt;

use crate::amounts::format_amount;
use crate::cores::is_reported_to_be_over;
use crate::held::{held, held_before};
use crate::{ExternalChanges, Invariant, Key, Snapshot, Violation};

/// What is wrong with a change at the write that has finished it. A commitment that somebody else has edited meanwhile is
/// theirs, and what is in a cluster that a user has given up is neither applied nor undone.
pub(crate) fn of_finished(snapshot: &Snapshot, outside: &ExternalChanges, key: &Key) -> Vec<Violation> {
    let Some(change) = snapshot.changes.get(key) else { return Vec::new() };
    if change.annotations().contains_key(labels::FORGET_CLUSTER) {
        return Vec::new();
    }
    let items = change.spec.items.iter().enumerate();
    let own = items.filter(|(_, item)| !outside.edited_in(key, &item.commitment_uuid));
    let (mut half_done, mut lost) = (Vec::new(), Vec::new());
    for (place, item) in own {
        match change.phase() {
            ChangePhase::Accepted => half_done.extend(not_applied(snapshot, item)),
            ChangePhase::RolledBack => {
                half_done.extend(not_undone(snapshot, change, item));
                lost.extend(lost_by(snapshot, outside, key, change, place));
            }
            ChangePhase::Pending | ChangePhase::Applying | ChangePhase::RollingBack | ChangePhase::Failed => {
                half_done.push(format!("it is finished in the phase {}", change.phase()));
            }
        }
    }
    let found = [(Invariant::ChangeHalfDone, half_done), (Invariant::CapacityLost, lost)];
    let found = found.into_iter().filter(|(_, texts)| !texts.is_empty());
    found.map(|(invariant, texts)| Violation::new(invariant, key, texts.join("; "))).collect()
}

fn not_applied(snapshot: &Snapshot, item: &ChangeItem) -> Option<String> {
    let mut objects = existing(snapshot, item);
    match &item.after {
        None => objects.next().map(|(key, _)| format!("{key} is not deleted")),
        Some(after) if objects.any(|(_, object)| object.spec == *after) => None,
        Some(_) => Some(format!("commitment {} does not have the spec that was accepted", item.commitment_uuid)),
    }
}

/// What was accepted meanwhile with the former spec stays accepted.
fn not_undone(snapshot: &Snapshot, change: &CommitmentChange, item: &ChangeItem) -> Option<String> {
    let Some(before) = &item.before else {
        let is_new = |object: &CommittedResource| {
            object.annotations().get(labels::CREATOR_REQUEST_ID) == Some(&change.spec.request_id)
        };
        let (key, _) = existing(snapshot, item).find(|(_, object)| is_new(object))?;
        return Some(format!("{key} is still there"));
    };
    let Some((key, object)) = existing(snapshot, item).find(|(_, object)| object.spec == before.spec) else {
        return Some(format!("commitment {} does not have its former spec", item.commitment_uuid));
    };
    let accepted = object.status.as_ref().and_then(|status| status.accepted_spec.as_ref());
    let is_accepted = accepted == before.accepted_spec.as_ref() || accepted == Some(&before.spec);
    (!is_accepted).then(|| format!("{key} does not have its former accepted spec"))
}

fn existing<'a>(
    snapshot: &'a Snapshot,
    item: &'a ChangeItem,
) -> impl Iterator<Item = (&'a Key, &'a CommittedResource)> {
    snapshot.commitments_of(&item.commitment_uuid).filter(|(_, object)| object.metadata.deletion_timestamp.is_none())
}

/// What a commitment lacks of the capacity that it had before a change that was undone. Hosts that are gone or that have
/// lost capacity to others do not count, and neither does a commitment that is over.
fn lost_by(
    snapshot: &Snapshot,
    outside: &ExternalChanges,
    key: &Key,
    change: &CommitmentChange,
    place: usize,
) -> Option<String> {
    let item = change.spec.items.get(place)?;
    let mut objects = existing(snapshot, item);
    if objects.all(|(_, object)| is_reported_to_be_over(object)) {
        return None;
    }
    let before = held_before(change, place, |host| snapshot.has_host(host) && !outside.lost_in(key, host));
    let now = held(snapshot, &item.commitment_uuid);
    let [had, has] = [before, now].map(|bytes| format_amount(bytes, resources::MEMORY));
    (now < before).then(|| format!("commitment {} had {had} on hosts, and has {has}", item.commitment_uuid))
}
