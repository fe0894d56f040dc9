//! What protects a region from its own operator: the brake (decision D14) and the freeze (decision U57).

use std::collections::BTreeSet;

use super::section::Section;

/// `brake`: how much may be moved or deleted before somebody has to agree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brake {
    /// `brake.slots`: slots of one zone within 10 minutes. Absent: 5 % of the zone's slots, at least 20.
    pub slots: Option<usize>,
}

impl Brake {
    /// The limit in a zone that has `total` slots.
    pub fn limit(&self, total: usize) -> usize {
        self.slots.unwrap_or_else(|| (total / 20).max(20))
    }

    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const MEANING: &str = "Slots of one zone that may be deleted or moved within 10 minutes without anybody having \
                               wished it; beyond, everything waits for a confirmation. 0 = always wait.";
        let absent = "5 % of the zone's slots, at least 20";
        let slots = s.optional_integer("slots", absent, 0..=i64::from(u32::MAX), MEANING);
        Self { slots: slots.and_then(|slots| usize::try_from(slots).ok()) }
    }
}

/// `freeze`: what is left exactly as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Freeze {
    /// `freeze.zones`: availability zones.
    pub zones: BTreeSet<String>,
    /// `freeze.flavorGroups`: flavor groups.
    pub flavor_groups: BTreeSet<String>,
}

impl Freeze {
    /// Whether commitments of this zone and group are left alone.
    pub fn covers(&self, zone: &str, flavor_group: &str) -> bool {
        self.zones.contains(zone) || self.flavor_groups.contains(flavor_group)
    }

    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const ZONES: &str = "Availability zones in which commitments and slots are left as they are.";
        const GROUPS: &str = "Flavor groups whose commitments and slots are left as they are.";
        let mut names = |key, meaning| s.list(key, "none", meaning).unwrap_or_default().into_iter().collect();
        Self { zones: names("zones", ZONES), flavor_groups: names("flavorGroups", GROUPS) }
    }
}
