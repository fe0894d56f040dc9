//! Excuses cores that were over-sold by changes from outside: a total that shrank, or a commitment that a user brought
//! back.

use std::collections::BTreeMap;

use crate::Snapshot;
use crate::cores::{CoresOfPlace, sheet};
use crate::snapshot::GroupAndZone;

/// The places that were seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Cores(BTreeMap<GroupAndZone, ObservedCores>);

#[derive(Clone, Debug)]
struct ObservedCores {
    sheet: CoresOfPlace,
    allowed: i128,
}

impl Cores {
    pub(super) fn allowed(&self, place: &GroupAndZone) -> i128 {
        self.0.get(place).map_or(0, |known| known.allowed)
    }

    pub(super) fn heard(&mut self) {
        for ObservedCores { sheet, allowed } in self.0.values_mut() {
            *allowed = sheet.short().min(*allowed);
        }
    }

    /// The state in which a place is first seen counts as caused by others, and so does an acceptance that a user
    /// writes.
    pub(super) fn learn(&mut self, snapshot: &Snapshot, place: &GroupAndZone, late: bool, by_hand: bool) {
        let mut now = sheet(snapshot, place);
        let allowed = match self.0.get(place) {
            None => now.short(),
            Some(ObservedCores { sheet: before, allowed }) => {
                let raised = if by_hand { (now.held() - before.held()).max(0) } else { returned(before, &now) };
                let taken = allowed + shrunk(before, &now) + raised;
                // An operator that learns late may still work with the former state.
                now.total = now.total.or(before.total.filter(|_| late));
                if late { taken } else { now.short().min(taken) }
            }
        };
        self.0.insert(place.clone(), ObservedCores { sheet: now, allowed });
    }
}

fn shrunk(before: &CoresOfPlace, now: &CoresOfPlace) -> i128 {
    match (before.total, now.total) {
        (Some(before), Some(now)) => (before - now).max(0),
        (None, Some(_)) => now.short(),
        (_, None) => 0,
    }
}

/// A commitment that counts again with its former accepted amount was not accepted anew.
fn returned(before: &CoresOfPlace, now: &CoresOfPlace) -> i128 {
    let counting = now.holders.iter().filter(|(_, holder)| holder.counts);
    let known = counting.filter_map(|(uuid, holder)| Some((before.holders.get(uuid)?, holder)));
    known.filter(|(before, now)| !before.counts && before.cores == now.cores).map(|(_, now)| now.cores).sum()
}
