//! What others did to the cores of a place: the total shrank, or a commitment that had given up what it was accepted with
//! was brought back by somebody.

use std::collections::BTreeMap;

use crate::Snapshot;
use crate::cores::{Sheet, sheet};
use crate::snapshot::Place;

/// The places that were seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Cores(BTreeMap<Place, Known>);

#[derive(Clone, Debug)]
struct Known {
    sheet: Sheet,
    /// How many cores may be too many.
    allowed: i128,
}

impl Cores {
    pub(super) fn allowed(&self, place: &Place) -> i128 {
        self.0.get(place).map_or(0, |known| known.allowed)
    }

    pub(super) fn heard(&mut self) {
        for Known { sheet, allowed } in self.0.values_mut() {
            *allowed = sheet.short().min(*allowed);
        }
    }

    /// What is there when a place is seen first, others have put there. What a person writes as accepted is their doing.
    pub(super) fn learn(&mut self, snapshot: &Snapshot, place: &Place, late: bool, by_hand: bool) {
        let mut now = sheet(snapshot, place);
        let allowed = match self.0.get(place) {
            None => now.short(),
            Some(Known { sheet: before, allowed }) => {
                let raised = if by_hand { (now.held() - before.held()).max(0) } else { returned(before, &now) };
                let taken = allowed + shrunk(before, &now) + raised;
                // Whoever hears late may still work with what there was.
                now.total = now.total.or(before.total.filter(|_| late));
                if late { taken } else { now.short().min(taken) }
            }
        };
        self.0.insert(place.clone(), Known { sheet: now, allowed });
    }
}

fn shrunk(before: &Sheet, now: &Sheet) -> i128 {
    match (before.total, now.total) {
        (Some(before), Some(now)) => (before - now).max(0),
        (None, Some(_)) => now.short(),
        (_, None) => 0,
    }
}

/// Who counts again with what it was accepted with before was not accepted anew.
fn returned(before: &Sheet, now: &Sheet) -> i128 {
    let counting = now.holders.iter().filter(|(_, holder)| holder.counts);
    let known = counting.filter_map(|(uuid, holder)| Some((before.holders.get(uuid)?, holder)));
    known.filter(|(before, now)| !before.counts && before.cores == now.cores).map(|(_, now)| now.cores).sum()
}
