//! The settings that protect a region from its own operator: `disruptionLimit` and `pause`.

use std::collections::BTreeSet;

use super::settings::settings;

settings! {
    /// `disruptionLimit`: how many slots may be moved or deleted before a user has to confirm it.
    #[derive(Default)]
    pub struct DisruptionLimit = read(s) {
        /// Slots of one zone that may be deleted or moved within 10 minutes although no user asked for it; more than
        /// that wait for a confirmation. 0 = always wait.
        slots: Option<usize> = optional_count("slots", "5 % of the zone's slots, at least 20"),
    }
}

impl DisruptionLimit {
    /// The limit in a zone that has `total` slots.
    pub fn limit(&self, total: usize) -> usize {
        self.slots.unwrap_or_else(|| (total / 20).max(20))
    }
}

settings! {
    /// `pause`: what is not reconciled.
    #[derive(Default)]
    pub struct Pause = read(s) {
        /// Availability zones whose commitments and slots are not reconciled.
        zones: BTreeSet<String> = set("zones", "none"),
        /// Flavor groups whose commitments and slots are not reconciled.
        flavor_groups: BTreeSet<String> = set("flavorGroups", "none"),
    }
}

impl Pause {
    /// Whether commitments of this zone and group are paused.
    pub fn covers(&self, zone: &str, flavor_group: &str) -> bool {
        self.zones.contains(zone) || self.flavor_groups.contains(flavor_group)
    }
}
