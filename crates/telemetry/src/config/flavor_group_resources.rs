//! `flavorGroupResourceConfig`: what each flavor group offers to Limes, under `committedResourceAPI` or at its former
//! place on the top level.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::section::Section;
use super::settings::settings;

const KEY: &str = "flavorGroupResourceConfig";
const PLACEHOLDER: &str = "<group>";
const UNIT: &str = "Size of one declared unit of memory in GiB. For groups whose flavors have one ratio of memory to \
                    cores: the memory of the smallest flavor.";
const OLD: &str = "Old place of `committedResourceAPI.flavorGroupResourceConfig`, which wins; move the entries there.";
const EVERY_OTHER: &str = "*";

settings! {
    /// What a resource of a group offers.
    #[derive(Copy, Default)]
    pub struct Offer = read(s) {
        /// Accept commitments for this resource.
        handles_commitments: bool = flag("handlesCommitments", false),
        /// Answer dry runs, together with `handlesCommitments`.
        handles_dry_run: bool = flag("handlesDryRun", false),
        /// Report capacity.
        has_capacity: bool = flag("hasCapacity", false),
        /// Announce quota.
        has_quota: bool = flag("hasQuota", false),
    }
}

/// What a flavor group offers. The default offers nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlavorGroupResources {
    /// Memory.
    pub ram: Offer,
    /// CPU cores.
    pub cores: Offer,
    /// Number of instances.
    pub instances: Offer,
    /// `ram.ramUnitGiB`, when it is given: size of one declared unit of memory, in GiB.
    pub declared_unit_gib: Option<NonZeroU32>,
}

impl FlavorGroupResources {
    /// Size of one declared unit of memory in GiB, at least 1.
    pub fn ram_unit_gib(&self) -> u32 {
        self.declared_unit_gib.map_or(1, NonZeroU32::get)
    }

    /// Size of one declared unit of memory in MiB.
    pub fn ram_unit_mib(&self) -> u64 {
        1024 * u64::from(self.ram_unit_gib())
    }

    fn read(s: &mut Section<'_>) -> Self {
        let (ram, declared_unit_gib) = s.section("ram", |s| {
            let unit = s.integer("ramUnitGiB", 1, 0..=i64::from(u32::MAX), UNIT);
            let unit = u32::try_from(unit).ok().and_then(NonZeroU32::new).filter(|_| s.has("ramUnitGiB"));
            // One that is given is compared with that of the old place.
            s.settle("ramUnitGiB", unit.map(NonZeroU32::get));
            (Offer::read(s), unit)
        });
        let cores = s.section("cores", Offer::read);
        let instances = s.section("instances", |s| {
            let offer = Offer::read(s);
            if offer.handles_commitments {
                s.error(
                    "handlesCommitments",
                    "is true, but commitments of instances do not exist; remove it".to_owned(),
                );
            }
            offer
        });
        Self { ram, cores, instances, declared_unit_gib }
    }
}

/// The settings of all groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlavorGroups(BTreeMap<String, FlavorGroupResources>);

impl FlavorGroups {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        Self(s.entries(KEY, PLACEHOLDER, FlavorGroupResources::read))
    }

    /// The settings of a group: its own entry, else the one of `*`, else nothing is offered.
    ///
    /// No entry is mixed with another.
    pub fn of(&self, group: &str) -> FlavorGroupResources {
        self.0.get(group).or_else(|| self.0.get(EVERY_OTHER)).copied().unwrap_or_default()
    }

    /// The groups that are named, without `*`.
    pub fn named(&self) -> impl Iterator<Item = (&str, &FlavorGroupResources)> {
        self.0.iter().map(|(group, resources)| (group.as_str(), resources)).filter(|(group, _)| *group != EVERY_OTHER)
    }

    /// Adds the groups of the old place that are not named at the new one. `root` is the top level.
    pub(super) fn add_old_place(&mut self, root: &mut Section<'_>) {
        let old = root.old_entries(KEY, OLD, FlavorGroupResources::read);
        if root.has(KEY) {
            let text = format!("is the old place; move the entries to committedResourceAPI.{KEY}");
            root.warning(KEY, text);
        }
        for (group, resources) in old {
            let units = (self.0.get(&group).and_then(|new| new.declared_unit_gib), resources.declared_unit_gib);
            if let (Some(new), Some(old)) = units
                && new != old
            {
                let text = format!("is {old}, but {new} in committedResourceAPI.{KEY}; remove the entry here");
                root.error(&format!("{KEY}.{group}.ram.ramUnitGiB"), text);
            }
            self.0.entry(group).or_insert(resources);
        }
    }
}
