//! The part of a plan that comes from an open change (docs/architecture.md, "Changes of commitments"): slots are taken over, and
//! those from before the change come back when it is undone.

use std::collections::BTreeMap;

use super::{FormerSlot, NewSlot, OpenChange, PlanDraft, PlannerInput, TakeOver, Target};
use crate::flavor::FlavorGroup;
use crate::slot;
use crate::units::Bytes;

impl<'a> PlanDraft<'a> {
    /// Gives slots that the change has enlarged their former size again.
    pub(super) fn cut_to_former(&mut self, former: &[FormerSlot]) {
        let sizes: BTreeMap<_, _> = former.iter().map(|former| (&former.name, former.size)).collect();
        for kept in &mut self.kept {
            if let Some(size) = sizes.get(&kept.slot.name).filter(|size| size.memory < kept.size.memory) {
                self.held -= kept.size.memory - size.memory;
                kept.size = *size;
            }
        }
    }

    pub(super) fn take_over(&mut self, wanted: Bytes, change: &OpenChange<'a>) {
        for slot in change.offered {
            if slot.size.memory <= self.missing(wanted) {
                self.held += slot.size.memory;
                self.take_over.push(TakeOver { name: slot.name.clone(), from: slot.commitment.clone() });
            }
        }
    }

    /// Creates slots again that were deleted since the change began, with their names, so that they find what is held
    /// for them, and if possible on their former hosts.
    pub(super) fn create_former(&mut self, target: &Target, group: &FlavorGroup, world: &PlannerInput<'_>) {
        let former = world.change.as_ref().map(|change| change.former).unwrap_or_default();
        for former in former {
            let exists = world.slots.iter().any(|slot| slot.name == former.name) || (world.taken)(&former.name);
            let (size, is_taken_over) = (former.size, self.take_over.iter().any(|slot| slot.name == former.name));
            if exists || is_taken_over || size.memory <= Bytes::ZERO || size.memory > self.missing(target.memory) {
                continue;
            }
            let same = group.flavors.iter().find(|flavor| flavor.size() == size);
            let Some(flavor) = same.or_else(|| group.largest_within(size.memory)).or_else(|| group.smallest()) else {
                return;
            };
            let number = slot::number(&former.name, &target.prefix).unwrap_or_default();
            self.held += size.memory;
            self.next_number = self.next_number.max(number.wrapping_add(1));
            self.create.push(NewSlot {
                name: former.name.clone(),
                number,
                flavor: flavor.clone(),
                size,
                prefer: former.host.clone(),
                around: None,
            });
        }
    }
}
