//! Slots that cannot stay, whatever the amount.

use super::{Draft, Release, Target, Why};
use crate::{flavor::FlavorGroups, slot::Slot, units::Bytes};

impl Draft<'_> {
    /// Releases slots of another identity, of no size, and those without a host whose flavor is gone. While the group
    /// is unknown no flavor counts as lost.
    pub(super) fn release_what_cannot_stay(&mut self, target: &Target, groups: &FlavorGroups) {
        let release = &mut self.release;
        self.kept.retain(|kept| match reason(kept.slot, target, groups) {
            None => true,
            Some(why) => {
                release.push(Release::of(kept.slot, why));
                false
            }
        });
    }
}

fn reason(slot: &Slot, target: &Target, groups: &FlavorGroups) -> Option<Why> {
    if (&slot.project, &slot.group, &slot.zone) != (&target.project, &target.group, &target.zone) {
        return Some(Why::OtherIdentity);
    }
    if slot.size.memory <= Bytes::ZERO {
        return Some(Why::NoMemory);
    }
    let lost = groups.get(&target.group).is_some_and(|group| group.flavor(&slot.flavor).is_none());
    (lost && slot.target_host.is_none() && slot.expected.is_empty()).then_some(Why::LostFlavor)
}

impl Release {
    pub(super) fn of(slot: &Slot, why: Why) -> Self {
        Self { name: slot.name.clone(), why, empty: slot.expected.is_empty() }
    }
}
