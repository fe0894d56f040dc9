//! Shrinks a commitment without hurting VMs.
//!
//! Slots without a host go first, then slots without a VM; within each, the largest that does not overshoot. When all
//! would overshoot, the smallest is cut in place, so that nothing has to be created again. Only then slots with VMs are
//! cut to what their VMs use, and finally released, least used first.

use std::cmp::min;
use std::collections::{BTreeSet, BinaryHeap};

use super::{KeptSlot, PlanDraft, ReleaseReason};
use crate::units::{Bytes, Resources, scale_cores};

impl PlanDraft<'_> {
    pub(super) fn shrink(&mut self, wanted: Bytes) {
        let mut surplus = Surplus { left: self.held - wanted, gone: BTreeSet::new() };
        if surplus.left > Bytes::ZERO {
            surplus.take_empty(&mut self.kept, |kept| kept.slot.target_host.is_none());
            surplus.take_empty(&mut self.kept, |kept| kept.slot.target_host.is_some());
            surplus.take_unused(&mut self.kept);
            surplus.take_used(&mut self.kept);
            self.give_up(&surplus.gone, ReleaseReason::Surplus);
            self.held = wanted + surplus.left;
        }
    }
}

/// The amount that is left to release, and the slots (by position) that are released as a whole.
struct Surplus {
    left: Bytes,
    gone: BTreeSet<usize>,
}

impl Surplus {
    /// A slot that exceeds the remaining amount once always exceeds it later, because the amount only shrinks. So each
    /// slot of the class is checked at once, and only the largest ones are sorted.
    fn take_empty(&mut self, kept: &mut [KeptSlot<'_>], class: impl Fn(&KeptSlot<'_>) -> bool) {
        if self.left <= Bytes::ZERO {
            return;
        }
        let goes = |kept: &KeptSlot<'_>| kept.slot.expected.is_empty();
        let slots = kept.iter().enumerate().filter(|(_, kept)| goes(kept) && class(kept));
        let sized = slots.map(|(index, kept)| (kept.size.memory, kept.order(), index));
        let (fitting, larger): (Vec<_>, Vec<_>) = sized.partition(|(size, ..)| *size <= self.left);
        let (mut fitting, mut smallest) = (BinaryHeap::from(fitting), larger.into_iter().min());
        while self.left > Bytes::ZERO {
            match fitting.pop() {
                Some((size, _, index)) if size <= self.left => self.release(index, size),
                Some(larger) => smallest = Some(smallest.map_or(larger, |known| min(known, larger))),
                None => break,
            }
        }
        if let Some((.., index)) = smallest {
            self.cut(&mut kept[index], Bytes::ZERO);
        }
    }

    fn take_unused(&mut self, kept: &mut [KeptSlot<'_>]) {
        for index in self.least_used_first(kept) {
            let used = kept[index].slot.used().max(Bytes::MIB);
            self.cut(&mut kept[index], used);
        }
    }

    fn take_used(&mut self, kept: &mut [KeptSlot<'_>]) {
        for index in self.least_used_first(kept) {
            let size = kept[index].size.memory;
            if self.left <= Bytes::ZERO {
                return;
            } else if size <= self.left {
                self.release(index, size);
            } else {
                self.cut(&mut kept[index], Bytes::ZERO);
            }
        }
    }

    /// The slots with VMs; none when there is nothing left to give up.
    fn least_used_first(&self, kept: &[KeptSlot<'_>]) -> Vec<usize> {
        let wanted = |index: &usize| self.left > Bytes::ZERO && !kept[*index].slot.expected.is_empty();
        let mut used: Vec<_> = (0..kept.len()).filter(wanted).collect();
        used.sort_by_cached_key(|index| (kept[*index].slot.used(), kept[*index].order()));
        used
    }

    fn release(&mut self, index: usize, size: Bytes) {
        self.gone.insert(index);
        self.left -= size;
    }

    /// Shrinks a slot by the amount that is left to release, but not below `floor`.
    fn cut(&mut self, kept: &mut KeptSlot<'_>, floor: Bytes) {
        let cut = (kept.size.memory - floor).at_least_zero().min(self.left);
        if cut > Bytes::ZERO {
            self.left -= cut;
            kept.size = kept.cut_to(kept.size.memory - cut);
        }
    }
}

impl KeptSlot<'_> {
    /// Cores follow memory: by the flavor, or by the slot's own ratio when its flavor is unknown. They never grow.
    fn cut_to(&self, memory: Bytes) -> Resources {
        let own_ratio = || scale_cores(self.size.cpu, memory, self.size.memory);
        let cpu = self.flavor.map_or_else(own_ratio, |flavor| flavor.part(memory).cpu);
        Resources::new(memory, cpu.min(self.size.cpu))
    }
}
