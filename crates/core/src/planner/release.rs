//! Releases slots that cannot stay whatever the amount.

use super::{KeptSlot, Release, ReleaseReason, Target};
use crate::flavor::FlavorGroup;
use crate::slot::Slot;
use crate::units::Bytes;

impl KeptSlot<'_> {
    /// Slots of another identity, of no size, and those without a host whose flavor is gone. While the group is unknown no
    /// flavor counts as lost.
    pub(super) fn find_unfit_reason(&self, target: &Target, group: Option<&FlavorGroup>) -> Option<ReleaseReason> {
        let slot = self.slot;
        if (&slot.project, &slot.group, &slot.zone) != (&target.project, &target.group, &target.zone) {
            return Some(ReleaseReason::OtherIdentity);
        }
        if slot.size.memory <= Bytes::ZERO {
            return Some(ReleaseReason::NoMemory);
        }
        let lost = group.is_some() && self.flavor.is_none();
        (lost && slot.target_host.is_none() && slot.expected.is_empty()).then_some(ReleaseReason::LostFlavor)
    }
}

impl Release {
    pub(super) fn of(slot: &Slot, why: ReleaseReason) -> Self {
        Self { name: slot.name.clone(), why, empty: slot.expected.is_empty() }
    }
}
