//! What the service info is made of: the flavor groups and the configuration of their resources.

use std::collections::BTreeSet;

use berth_cluster::{FlavorGroupsCache, KnownFlavorGroups};
use berth_core::GroupName;
use berth_core::flavor::FlavorGroup;
use berth_core::liquid::info::build_resources;
use berth_core::liquid::resources::ResourceConfig;
use berth_core::liquid::units::RamUnit;

use super::{PublishError, PublishedInfo};

/// The sources of the service info of one process. Clones share the flavor groups.
#[derive(Clone)]
pub struct InfoSource {
    pub groups: FlavorGroupsCache,
    pub config: ResourceConfig,
}

impl InfoSource {
    /// Why no info was ever published, as far as this process knows.
    pub fn reason_unpublished(&self) -> String {
        match self.check() {
            Ok(()) => "the service info is not published yet".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn check(&self) -> Result<(), PublishError> {
        let KnownFlavorGroups { groups, .. } = self.groups.get()?;
        build_resources(&groups, &self.config)?;
        Ok(())
    }

    /// All groups, and whether something is wrong with their configured unit: it does not divide the smallest flavor, or another
    /// one is published because amounts of commitments would not be whole.
    pub fn unit_mismatches(&self, published: &PublishedInfo) -> Vec<(GroupName, bool)> {
        let Ok(KnownFlavorGroups { groups, .. }) = self.groups.get() else { return Vec::new() };
        let published = published.get();
        let is_mismatch = |group: &FlavorGroup| {
            let Ok(unit) = self.config.of(&group.name).ram_unit() else { return true };
            let in_use = published.as_ref().and_then(|published| published.ram_unit(&group.name));
            !unit.divides_smallest_flavor(group) || in_use.is_some_and(|in_use: RamUnit| in_use != unit)
        };
        groups.iter().map(|group| (group.name.clone(), is_mismatch(group))).collect()
    }

    /// The groups whose configured unit does not divide their smallest flavor.
    pub(super) fn undivided_flavors(&self) -> BTreeSet<GroupName> {
        let Ok(KnownFlavorGroups { groups, .. }) = self.groups.get() else { return BTreeSet::new() };
        let is_divided = |group: &FlavorGroup| {
            self.config.of(&group.name).ram_unit().is_ok_and(|unit| unit.divides_smallest_flavor(group))
        };
        groups.iter().filter(|group| !is_divided(group)).map(|group| group.name.clone()).collect()
    }
}
