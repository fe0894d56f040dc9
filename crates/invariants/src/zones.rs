//! The invariant of the changes of commitments in a zone: one at a time.

use crate::{Invariant, Snapshot, Violation};

/// All changes of a zone that are under way except the first.
pub(crate) fn of_zone(snapshot: &Snapshot, zone: &str) -> Vec<Violation> {
    let mut keys = snapshot.changes_in(zone);
    let Some(first) = keys.next() else { return Vec::new() };
    let text = || format!("is under way in zone {zone}, and so is {first}");
    keys.map(|key| Violation::new(Invariant::ZoneChangedTwice, key, text())).collect()
}
