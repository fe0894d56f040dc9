//! Repairs slots whose cores were changed by hand.

use std::collections::BTreeSet;

use super::{KeptSlot, NotEnlarged, PlanDraft, ReleaseReason};
use crate::units::Resources;

impl PlanDraft<'_> {
    /// Gives each slot the cores that its memory needs. Cores above that are given up as far as no VM uses them. Missing
    /// ones need free capacity on the host: on a full host an empty slot is released and planned again; a slot with VMs
    /// stays as it is, and so does every slot on an unknown host.
    pub(super) fn repair_cores(&mut self) {
        let Self { kept, free_capacity, .. } = self;
        let mut wrong: Vec<_> = kept.iter_mut().enumerate().filter(|(_, kept)| kept.repaired() != kept.size).collect();
        wrong.sort_by_key(|(_, kept)| kept.order());
        let mut full = BTreeSet::new();
        for (index, kept) in wrong {
            let repaired = kept.repaired();
            if repaired.fits(kept.size) {
                kept.size = repaired;
                continue;
            }
            let outcome = kept.enlarge(repaired, free_capacity);
            if matches!(outcome, Err(NotEnlarged::Known)) && kept.slot.expected.is_empty() {
                full.insert(index);
            }
        }
        self.give_up(&full, ReleaseReason::TooFewCores);
    }
}

impl KeptSlot<'_> {
    fn repaired(&self) -> Resources {
        let Some(flavor) = self.flavor else { return self.size };
        let needed = flavor.part(self.size.memory).cpu;
        let excess = self.size.cpu > needed;
        let cpu = if excess { needed.max(self.size.cpu.min(self.slot.used_cores())) } else { needed };
        Resources::new(self.size.memory, cpu)
    }
}
