//! Repairs slots whose cores were lowered by hand.

use std::collections::BTreeSet;

use super::{KeptSlot, NotEnlarged, PlanDraft, ReleaseReason};
use crate::units::Resources;

impl PlanDraft<'_> {
    /// Gives each slot the cores that its memory needs, if its host has free capacity for them. On a full host an empty
    /// slot is released and planned again; a slot with VMs stays as it is, and so does every slot on an unknown host.
    pub(super) fn repair_cores(&mut self) {
        let Self { kept, free_capacity, .. } = self;
        let mut short: Vec<_> = kept.iter_mut().enumerate().filter(|(_, kept)| kept.repaired() != kept.size).collect();
        short.sort_by_key(|(_, kept)| kept.order());
        let mut full = BTreeSet::new();
        for (index, kept) in short {
            let outcome = kept.enlarge(kept.repaired(), free_capacity);
            if matches!(outcome, Err(NotEnlarged::Known)) && kept.slot.expected.is_empty() {
                full.insert(index);
            }
        }
        self.give_up(&full, ReleaseReason::TooFewCores);
    }
}

impl KeptSlot<'_> {
    fn repaired(&self) -> Resources {
        self.flavor.map_or(self.size, |flavor| self.size.max(flavor.part(self.size.memory)))
    }
}
