//! Which commitments of Limes are ours, and what they mean for us.

use std::collections::BTreeSet;

use berth_core::GroupName;
use berth_core::commitment::{ResourceType, State};
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::conversion::{LimesCommitment, Start};
use berth_core::liquid::names::{Supported, parse_committed};
use berth_core::liquid::units::{RamUnit, committed_amount};
use berth_openstack::limes::{ListedCommitment, Project};
use jiff::Timestamp;
use strum::{EnumIter, IntoStaticStr};

/// Why a commitment of Limes is not compared. It counts as listed all the same, so that nothing is ended because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, EnumIter)]
#[strum(serialize_all = "snake_case")]
pub enum SkipReason {
    /// It belongs to another service.
    NonCompute,
    UnknownStatus,
    /// It is about neither memory nor cores of a flavor group.
    InvalidResourceName,
    /// For example because the Knowledge object lacks the group for a while.
    UnknownFlavorGroup,
    /// Its amount is counted in another unit than ours.
    UnitMismatch,
    EmptyUuid,
    InvalidUuid,
    /// Its amount has more bytes than 64 bits can count.
    AmountOverflow,
    /// Two projects have it in the same run.
    Duplicate,
    /// The object has another zone.
    AzMismatch,
    /// The object is about the other resource, which never changes.
    ResourceMismatch,
}

/// A commitment of Limes that is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableCommitment {
    pub commitment: LimesCommitment,
    pub confirmed_at: Option<Timestamp>,
}

/// What the commitments of a run are compared with.
pub struct Filter<'a> {
    pub services: &'a BTreeSet<String>,
    pub groups: &'a FlavorGroups,
    /// The unit in which Limes counts the memory of a group.
    pub ram_unit: &'a dyn Fn(&GroupName) -> Option<RamUnit>,
}

impl Filter<'_> {
    /// What the commitment means, or the first reason why it is not compared.
    pub fn check(&self, listed: &ListedCommitment, project: &Project) -> Result<UsableCommitment, SkipReason> {
        if !self.services.contains(&listed.service_type) {
            return Err(SkipReason::NonCompute);
        }
        let status = State::parse(&listed.status).ok_or(SkipReason::UnknownStatus)?;
        let (group, resource) = parse_committed(&listed.resource_name, Supported::RamAndCores)
            .map_err(|_| SkipReason::InvalidResourceName)?;
        self.groups.get(&group).ok_or(SkipReason::UnknownFlavorGroup)?;
        let unit = (self.ram_unit)(&group).ok_or(SkipReason::UnitMismatch)?;
        if !is_unit(&listed.unit, resource, unit) {
            return Err(SkipReason::UnitMismatch);
        }
        check_uuid(&listed.uuid)?;
        let amount = committed_amount(resource, listed.amount, unit).ok_or(SkipReason::AmountOverflow)?;
        let commitment = LimesCommitment {
            uuid: listed.uuid.as_str().into(),
            group,
            resource,
            amount,
            zone: listed.availability_zone.as_str().into(),
            project: project.id.as_str().into(),
            domain: project.domain_id.as_str().into(),
            status,
            start: Start::listed(listed.confirmed_at, listed.created_at.unwrap_or_default()),
            expires_at: listed.expires_at,
        };
        Ok(UsableCommitment { commitment, confirmed_at: listed.confirmed_at })
    }
}

/// Limes leaves the unit out where it is the default, and counts cores in pieces.
fn is_unit(text: &str, resource: ResourceType, unit: RamUnit) -> bool {
    match resource {
        _ if text.is_empty() => true,
        ResourceType::Memory => text == unit.to_string(),
        ResourceType::Cores => text == "piece",
    }
}

/// What can be part of the names of slots.
fn check_uuid(uuid: &str) -> Result<(), SkipReason> {
    match uuid.len() {
        0 => Err(SkipReason::EmptyUuid),
        6..=40 if uuid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => Ok(()),
        _ => Err(SkipReason::InvalidUuid),
    }
}

#[cfg(test)]
mod tests;
