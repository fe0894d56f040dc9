//! Decides what is published next: a function of what is published, the flavor groups, the configuration and the commitments.

use std::collections::BTreeSet;

use berth_core::GroupName;
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::info::{ResourceInfos, ServiceInfo, SourceTimes, build_resources, merge_published};
use berth_core::liquid::names::{ResourceKind, parse_resource, resource_name};
use berth_core::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use berth_core::liquid::units::RamUnit;
use jiff::Timestamp;

use super::{LiveCommitments, PublishError};

/// A published service info.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    pub info: ServiceInfo,
    /// The info as it is served.
    pub json: String,
    pub configuration: ConfigurationState,
    pub published_at: Timestamp,
}

/// The configuration of the resources as it was at a publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigurationState {
    /// A hash of all entries.
    pub fingerprint: String,
    /// When it was changed last; `None` if that has not happened since the first publication.
    pub changed: Option<Timestamp>,
}

/// What a publication is made of.
#[derive(Clone, Copy, Debug)]
pub struct InfoFacts<'a> {
    pub groups: &'a FlavorGroups,
    /// From the same object as the groups.
    pub last_content_change: Option<Timestamp>,
    pub config: &'a ResourceConfig,
    pub live: &'a LiveCommitments,
    /// The time, unless the clock cannot be trusted.
    pub trusted_now: Option<Timestamp>,
    /// The time that is recorded.
    pub now: Timestamp,
}

/// What is to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextPublication {
    pub publication: Publication,
    /// Groups whose configured unit would make amounts of commitments fractional: they stay as they were published.
    pub kept_units: BTreeSet<GroupName>,
}

impl Publication {
    pub fn new(
        info: ServiceInfo,
        configuration: ConfigurationState,
        published_at: Timestamp,
    ) -> Result<Self, PublishError> {
        let json = serde_json::to_string(&info)?;
        Ok(Self { info, json, configuration, published_at })
    }

    /// The unit of RAM that Limes counts in. It may differ from the configured one.
    pub fn ram_unit(&self, group: &GroupName) -> Option<RamUnit> {
        ram_unit(&self.info.resources, group)
    }

    /// The resources that are announced without a capacity. A delegating liquid turns them into `null`, and Limes then rejects
    /// its whole report.
    pub fn without_capacity(&self) -> impl Iterator<Item = &str> {
        self.info.resources.iter().filter(|(_, info)| !info.has_capacity).map(|(name, _)| name.as_str())
    }
}

impl ConfigurationState {
    /// The state after `former`. A change at an unknown time has no time: the version rises without one.
    fn after(former: Option<&Self>, config: &ResourceConfig, now: Option<Timestamp>) -> Self {
        let fingerprint = fingerprint(config);
        let changed = match former {
            None => None,
            Some(former) if former.fingerprint == fingerprint => former.changed,
            Some(former) => now.max(former.changed),
        };
        Self { fingerprint, changed }
    }
}

/// The publication after `published`. It equals `published` if nothing has changed.
pub fn plan(published: Option<&Publication>, facts: &InfoFacts<'_>) -> Result<NextPublication, PublishError> {
    let former = published.map(|published| &published.info.resources);
    let fresh = build_resources(facts.groups, facts.config)?;
    let kept_units = kept_units(former, &fresh, facts.live);
    let resources = merge_published(former, keep_groups(former, fresh, &kept_units), &live_groups(former, facts.live));
    let configuration =
        ConfigurationState::after(published.map(|published| &published.configuration), facts.config, facts.trusted_now);
    let times =
        SourceTimes { last_content_change: facts.last_content_change, configuration_changed: configuration.changed };
    let info = ServiceInfo::after(published.map(|published| &published.info), resources, times);
    let unchanged = published.filter(|published| published.info == info && published.configuration == configuration);
    let publication = match unchanged {
        Some(unchanged) => unchanged.clone(),
        None => Publication::new(info, configuration, facts.now)?,
    };
    Ok(NextPublication { publication, kept_units })
}

/// The published groups that may have live commitments.
fn live_groups(published: Option<&ResourceInfos>, live: &LiveCommitments) -> BTreeSet<GroupName> {
    groups_of(published).filter(|group| live.may_be_in(group)).collect()
}

fn kept_units(published: Option<&ResourceInfos>, fresh: &ResourceInfos, live: &LiveCommitments) -> BTreeSet<GroupName> {
    let breaks_amounts = |group: &GroupName| {
        let units = published.and_then(|published| ram_unit(published, group)).zip(ram_unit(fresh, group));
        units.is_some_and(|(old, new)| !live.stay_whole(group, old, new))
    };
    groups_of(published).filter(breaks_amounts).collect()
}

fn keep_groups(
    published: Option<&ResourceInfos>,
    mut fresh: ResourceInfos,
    groups: &BTreeSet<GroupName>,
) -> ResourceInfos {
    let names = groups.iter().flat_map(|group| ResourceKind::ALL.map(|kind| resource_name(group, kind)));
    let kept = names.filter_map(|name| published?.get_key_value(&name));
    fresh.extend(kept.map(|(name, info)| (name.clone(), info.clone())));
    fresh
}

fn groups_of(resources: Option<&ResourceInfos>) -> impl Iterator<Item = GroupName> {
    resources.into_iter().flat_map(|resources| resources.keys()).filter_map(|name| match parse_resource(name)? {
        (group, ResourceKind::Ram) => Some(group),
        _ => None,
    })
}

fn ram_unit(resources: &ResourceInfos, group: &GroupName) -> Option<RamUnit> {
    RamUnit::parse(&resources.get(&resource_name(group, ResourceKind::Ram))?.unit)
}

/// FNV-1a (64 bit) over all entries, which are ordered by group.
fn fingerprint(config: &ResourceConfig) -> String {
    let entries = config.iter().map(|(group, resources)| entry(group, resources));
    let hash = entries
        .flat_map(String::into_bytes)
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

fn entry(group: &GroupName, resources: &GroupResources) -> String {
    let flags = |flags: ResourceFlags| {
        let ResourceFlags { handles_commitments, handles_dry_run, has_capacity, has_quota } = flags;
        [handles_commitments, handles_dry_run, has_capacity, has_quota].map(|flag| if flag { '1' } else { '0' })
    };
    let flags: String = ResourceKind::ALL.into_iter().flat_map(|kind| flags(resources.flags(kind))).collect();
    format!("{group}\n{flags}\n{}\n", resources.ram_unit_gib)
}
