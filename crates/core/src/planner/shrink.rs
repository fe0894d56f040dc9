//! Making a commitment smaller without hurting VMs (U44).
//!
//! Slots without a host go first, then slots without a VM; within each the largest that does not overshoot, and when
//! all would overshoot the smallest is cut in place, so that nothing has to be created again. Only then slots with
//! VMs are cut down to what their VMs use, then released, least used first.

use std::collections::BTreeSet;

use super::{Draft, Kept, Release, Why};
use crate::{
    flavor::FlavorGroup,
    units::{Bytes, Resources, scale_cores},
};

impl Draft<'_> {
    pub(super) fn shrink(&mut self, wanted: Bytes, group: Option<&FlavorGroup>) {
        let mut surplus = Surplus { left: self.held() - wanted, gone: BTreeSet::new() };
        if surplus.left > Bytes::ZERO {
            surplus.take_empty(&mut self.kept, group, |kept| kept.slot.target_host.is_none());
            surplus.take_empty(&mut self.kept, group, |kept| kept.slot.target_host.is_some());
            surplus.take_unused(&mut self.kept, group);
            surplus.take_used(&mut self.kept, group);
        }
        self.release_surplus(&surplus.gone);
    }

    fn release_surplus(&mut self, gone: &BTreeSet<usize>) {
        self.release.extend(gone.iter().map(|index| Release::of(self.kept[*index].slot, Why::Surplus)));
        let mut index = 0;
        self.kept.retain(|_| {
            index += 1;
            !gone.contains(&(index - 1))
        });
    }
}

/// What is left to give up, and which slots (by position) go as a whole.
struct Surplus {
    left: Bytes,
    gone: BTreeSet<usize>,
}

impl Surplus {
    fn take_empty(&mut self, kept: &mut [Kept<'_>], group: Option<&FlavorGroup>, class: impl Fn(&Kept<'_>) -> bool) {
        let mut by_size: BTreeSet<(Bytes, usize)> = kept
            .iter()
            .enumerate()
            .filter(|(_, kept)| kept.slot.expected.is_empty() && class(kept))
            .map(|(index, kept)| (kept.size.memory, index))
            .collect();
        while self.left > Bytes::ZERO {
            if let Some(largest) = by_size.range(..=(self.left, usize::MAX)).next_back().copied() {
                by_size.remove(&largest);
                self.release(largest.1, largest.0);
            } else {
                let Some((_, smallest)) = by_size.pop_first() else { return };
                self.cut(&mut kept[smallest], group, Bytes::ZERO);
            }
        }
    }

    fn take_unused(&mut self, kept: &mut [Kept<'_>], group: Option<&FlavorGroup>) {
        for index in least_used_first(kept) {
            let used = kept[index].slot.used().max(Bytes::MIB);
            self.cut(&mut kept[index], group, used);
        }
    }

    fn take_used(&mut self, kept: &mut [Kept<'_>], group: Option<&FlavorGroup>) {
        for index in least_used_first(kept) {
            let size = kept[index].size.memory;
            if self.left <= Bytes::ZERO {
                return;
            } else if size <= self.left {
                self.release(index, size);
            } else {
                self.cut(&mut kept[index], group, Bytes::ZERO);
            }
        }
    }

    fn release(&mut self, index: usize, size: Bytes) {
        self.gone.insert(index);
        self.left -= size;
    }

    /// Cuts a slot by what is left to give up, but not below `floor`.
    fn cut(&mut self, kept: &mut Kept<'_>, group: Option<&FlavorGroup>, floor: Bytes) {
        let cut = (kept.size.memory - floor).at_least_zero().min(self.left);
        if cut > Bytes::ZERO {
            self.left -= cut;
            kept.size = kept.cut_to(kept.size.memory - cut, group);
        }
    }
}

impl Kept<'_> {
    /// Cores follow memory: by the flavor, or by the slot's own ratio when its flavor is unknown (U51). They never grow.
    fn cut_to(&self, memory: Bytes, group: Option<&FlavorGroup>) -> Resources {
        let flavor = group.and_then(|group| group.flavor(&self.slot.flavor));
        let own_ratio = || scale_cores(self.size.cpu, memory, self.size.memory);
        let cpu = flavor.map_or_else(own_ratio, |flavor| flavor.part(memory).cpu);
        Resources::new(memory, cpu.min(self.size.cpu))
    }
}

fn least_used_first(kept: &[Kept<'_>]) -> Vec<usize> {
    let mut used: Vec<_> = (0..kept.len()).filter(|index| !kept[*index].slot.expected.is_empty()).collect();
    used.sort_by_key(|index| (kept[*index].slot.used(), *index));
    used
}
