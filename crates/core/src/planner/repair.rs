//! Slots whose cores were lowered by hand (U54).

use std::mem;

use super::{Draft, Kept, NoRoom, Release, Why};
use crate::{flavor::FlavorGroup, units::Resources};

impl Draft<'_> {
    /// Gives each slot the cores that its memory must have (U7), where its host has room for them. On a full host an
    /// empty slot is given up and planned anew; one with VMs stays as it is, as does every slot on a host of which
    /// nothing is known.
    pub(super) fn repair_cores(&mut self, group: &FlavorGroup) {
        for mut kept in mem::take(&mut self.kept) {
            let wanted = wanted(&kept, group);
            let outcome = if wanted == kept.size { Ok(()) } else { kept.enlarge(wanted, &mut self.room) };
            match outcome {
                Err(NoRoom::Known) if kept.slot.expected.is_empty() => {
                    self.release.push(Release::of(kept.slot, Why::TooFewCores));
                }
                _ => self.kept.push(kept),
            }
        }
    }
}

fn wanted(kept: &Kept<'_>, group: &FlavorGroup) -> Resources {
    let flavor = group.flavor(&kept.slot.flavor);
    flavor.map_or(kept.size, |flavor| kept.size.max(flavor.part(kept.size.memory)))
}
