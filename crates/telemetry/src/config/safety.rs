//! What protects a region from its own operator: the brake and the freeze.

use std::collections::BTreeSet;

use super::settings::settings;

settings! {
    /// `brake`: how much may be moved or deleted before somebody has to agree.
    #[derive(Default)]
    pub struct Brake = read(s) {
        /// Slots of one zone that may be deleted or moved within 10 minutes without anybody having wished it; beyond,
        /// everything waits for a confirmation. 0 = always wait.
        slots: Option<usize> = optional_count("slots", "5 % of the zone's slots, at least 20"),
    }
}

impl Brake {
    /// The limit in a zone that has `total` slots.
    pub fn limit(&self, total: usize) -> usize {
        self.slots.unwrap_or_else(|| (total / 20).max(20))
    }
}

settings! {
    /// `freeze`: what is left exactly as it is.
    #[derive(Default)]
    pub struct Freeze = read(s) {
        /// Availability zones in which commitments and slots are left as they are.
        zones: BTreeSet<String> = set("zones", "none"),
        /// Flavor groups whose commitments and slots are left as they are.
        flavor_groups: BTreeSet<String> = set("flavorGroups", "none"),
    }
}

impl Freeze {
    /// Whether commitments of this zone and group are left alone.
    pub fn covers(&self, zone: &str, flavor_group: &str) -> bool {
        self.zones.contains(zone) || self.flavor_groups.contains(flavor_group)
    }
}
