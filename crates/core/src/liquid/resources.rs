//! What is configured for the resources of flavor groups.

use std::collections::BTreeMap;

use super::names::ResourceKind;
use super::units::{RamUnit, UnitError};
use crate::ids::GroupName;

/// The key of the entry for groups that have none of their own.
const ANY_GROUP: &str = "*";

/// What is announced about one resource, and whether dry runs consider it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent keys of the configuration")]
pub struct ResourceFlags {
    pub handles_commitments: bool,
    pub handles_dry_run: bool,
    pub has_capacity: bool,
    pub has_quota: bool,
}

/// The configuration of a group. The default announces resources without any flag, in units of one GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupResources {
    pub ram: ResourceFlags,
    pub cores: ResourceFlags,
    pub instances: ResourceFlags,
    /// Size of a unit of RAM in GiB; 0 counts as 1.
    pub ram_unit_gib: u64,
}

/// The configuration of all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceConfig {
    groups: BTreeMap<GroupName, GroupResources>,
}

impl GroupResources {
    pub fn flags(&self, kind: impl Into<ResourceKind>) -> ResourceFlags {
        match kind.into() {
            ResourceKind::Ram => self.ram,
            ResourceKind::Cores => self.cores,
            ResourceKind::Instances => self.instances,
        }
    }

    pub fn ram_unit(&self) -> Result<RamUnit, UnitError> {
        RamUnit::new(self.ram_unit_gib)
    }
}

impl ResourceConfig {
    /// The entry of the group, otherwise that of `*`, otherwise the default. Two entries are never merged.
    pub fn of(&self, group: &GroupName) -> GroupResources {
        self.groups.get(group).or_else(|| self.groups.get(ANY_GROUP)).copied().unwrap_or_default()
    }

    /// The configured entries, `*` included.
    pub fn iter(&self) -> impl Iterator<Item = (&GroupName, &GroupResources)> {
        self.groups.iter()
    }
}

impl FromIterator<(GroupName, GroupResources)> for ResourceConfig {
    fn from_iter<I: IntoIterator<Item = (GroupName, GroupResources)>>(groups: I) -> Self {
        Self { groups: groups.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_entry_hides_the_one_for_any_group() {
        let with_quota = ResourceFlags { has_quota: true, ..ResourceFlags::default() };
        let exact = GroupResources { ram: with_quota, ..GroupResources::default() };
        let any = GroupResources { cores: with_quota, ram_unit_gib: 16, ..GroupResources::default() };
        let config: ResourceConfig = [("a".into(), exact), ("*".into(), any)].into_iter().collect();
        assert_eq!(config.of(&"a".into()), exact, "not merged");
        assert_eq!(config.of(&"b".into()), any);
        assert_eq!(ResourceConfig::default().of(&"a".into()), GroupResources::default());
        assert_eq!(config.of(&"a".into()).ram_unit().map(RamUnit::in_gib), Ok(1));
        assert!(any.flags(ResourceKind::Cores).has_quota && !any.flags(ResourceKind::Instances).has_quota);
    }
}
