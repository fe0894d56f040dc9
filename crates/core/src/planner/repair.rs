//! Slots whose cores were lowered by hand.

use std::collections::BTreeSet;

use super::{Draft, Kept, NoRoom, Why};
use crate::units::Resources;

impl Draft<'_> {
    /// Gives each slot the cores that its memory must have, where its host has room for them. On a full host an empty
    /// slot is given up and planned anew; one with VMs stays as it is, as does every slot on a host of which nothing is
    /// known.
    pub(super) fn repair_cores(&mut self) {
        let Self { kept, room, .. } = self;
        let mut short: Vec<_> = kept.iter_mut().enumerate().filter(|(_, kept)| kept.repaired() != kept.size).collect();
        short.sort_by_key(|(_, kept)| kept.order());
        let mut full = BTreeSet::new();
        for (index, kept) in short {
            let outcome = kept.enlarge(kept.repaired(), room);
            if matches!(outcome, Err(NoRoom::Known)) && kept.slot.expected.is_empty() {
                full.insert(index);
            }
        }
        self.give_up(&full, Why::TooFewCores);
    }
}

impl Kept<'_> {
    fn repaired(&self) -> Resources {
        self.flavor.map_or(self.size, |flavor| self.size.max(flavor.part(self.size.memory)))
    }
}
