//! Enlarges a commitment: restores slots that are smaller than their flavor where their host has free capacity, then
//! creates slots, the largest flavor that fits first.

use super::{MAX_NEW_SLOTS, NewSlot, PlanDraft, PlanError, PlannerInput, Target};
use crate::flavor::{Flavor, FlavorGroup};
use crate::units::Bytes;

impl PlanDraft<'_> {
    pub(super) fn restore(&mut self, wanted: Bytes) {
        let mut missing = self.missing(wanted);
        let Self { kept, free_capacity, held, .. } = self;
        let placed = kept.iter_mut().filter(|kept| kept.slot.target_host.is_some());
        let mut small: Vec<_> = placed.filter_map(|kept| Some((kept.flavor?, kept))).collect();
        small.retain(|(flavor, kept)| kept.size.memory < flavor.size().memory);
        small.sort_by_key(|(_, kept)| kept.order());
        for (flavor, kept) in small {
            let more = (flavor.size().memory - kept.size.memory).min(missing);
            let larger = kept.size.max(flavor.part(kept.size.memory + more));
            if more > Bytes::ZERO && kept.enlarge(larger, free_capacity).is_ok() {
                missing -= more;
                *held += more;
            }
        }
    }

    pub(super) fn create(
        &mut self,
        target: &Target,
        group: &FlavorGroup,
        world: &PlannerInput<'_>,
    ) -> Result<(), PlanError> {
        let shapes = shapes(self.missing(target.memory), group);
        let count = shapes.iter().map(|(_, _, count)| count).sum();
        let limit = world.max_new_slots.unwrap_or(MAX_NEW_SLOTS).min(MAX_NEW_SLOTS);
        if count > limit {
            return Err(PlanError::SlotLimit { count, limit });
        }
        for (flavor, memory, count) in shapes {
            for _ in 0..count {
                let new = self.new_slot(target, flavor, memory, world);
                self.create.push(new);
            }
        }
        Ok(())
    }

    pub(super) fn new_slot(
        &mut self,
        target: &Target,
        flavor: &Flavor,
        memory: Bytes,
        world: &PlannerInput<'_>,
    ) -> NewSlot {
        loop {
            let number = self.next_number;
            self.next_number = number.wrapping_add(1);
            let name = format!("{}{number}", target.prefix).into();
            if !(world.taken)(&name) {
                let size = flavor.part(memory);
                return NewSlot { name, number, flavor: flavor.clone(), size, prefer: None, around: None };
            }
        }
    }
}

/// How many slots of which flavor and size make up `missing`. The largest flavor that fits is taken as often as it
/// fits; a rest that is smaller than every flavor becomes a part of the smallest.
fn shapes(missing: Bytes, group: &FlavorGroup) -> Vec<(&Flavor, Bytes, u64)> {
    let (mut left, mut shapes) = (missing, Vec::new());
    while let Some(flavor) = group.largest_within(left).filter(|_| left > Bytes::ZERO) {
        let size = flavor.size().memory;
        let count = left.get() / size.get();
        left -= Bytes::new(size.get() * count);
        shapes.push((flavor, size, u64::try_from(count).unwrap_or(0)));
    }
    if let Some(flavor) = group.smallest().filter(|_| left > Bytes::ZERO) {
        shapes.push((flavor, left, 1));
    }
    shapes
}
