//! What commitments hold on hosts, now and before a change.

use berth_crds::{CommitmentChange, resources};

use crate::Snapshot;
use crate::amounts::used;

/// The bytes that a commitment had on these hosts before a change.
pub(crate) fn held_before(change: &CommitmentChange, place: usize, counts: impl Fn(&str) -> bool) -> i128 {
    let slots = change.slots_before(place);
    let placed = slots.iter().filter(|slot| slot.target_host.as_deref().is_some_and(&counts));
    placed.map(|slot| used(&slot.resources, resources::MEMORY)).sum()
}

/// The bytes of the slots of a commitment that have a host.
pub(crate) fn held(snapshot: &Snapshot, uuid: &str) -> i128 {
    let slots = snapshot.slots_of(uuid).map(|(_, slot)| slot);
    let placed = slots.filter(|slot| slot.spec.target_host.is_some() && slot.metadata.deletion_timestamp.is_none());
    placed.map(|slot| used(&slot.spec.resources, resources::MEMORY)).sum()
}
