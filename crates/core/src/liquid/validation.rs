//! Checks a whole request before anything is written, and lists its commitments in the order of their processing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use thiserror::Error;

use super::conversion::{LimesCommitment, Start};
use super::names::{NameError, ResourceKind, Supported, parse_committed, resource_name};
use super::request::{ChangeRequest, ProjectChangeset, RequestedCommitment, commitment_key};
use super::resources::ResourceConfig;
use super::units::{RamUnit, committed_amount};
use crate::commitment::{ResourceType, Spec, State};
use crate::flavor::FlavorGroups;
use crate::ids::{CommitmentUuid, DomainId, GroupName, ProjectId, Zone};

/// Commitments that one change can have.
pub const MAX_ITEMS: usize = 1000;

/// What the checks compare a request with.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub groups: &'a FlavorGroups,
    pub config: &'a ResourceConfig,
    /// The stored commitments under the keys of [`ChangeRequest::commitment_keys`].
    pub existing: &'a BTreeMap<CommitmentUuid, Spec>,
    pub now: Timestamp,
}

/// One commitment of a checked request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub uuid: CommitmentUuid,
    /// The project of the commitment afterwards, or of the one that is deleted.
    pub project: ProjectId,
    pub domain: DomainId,
    pub group: GroupName,
    pub resource: ResourceType,
    /// `None`: it is deleted.
    pub after: Option<LimesCommitment>,
}

/// Why a request is refused. The text is the answer to its sender.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("availability zone is required")]
    NoZone,
    #[error("availability zone {0:?} is reserved, commitments need a real one")]
    ReservedZone(Zone),
    #[error("request is too large to be applied in one step")]
    TooLarge,
    #[error("project with unknown resource name {project}: {error}")]
    UnknownResource { project: ProjectId, error: NameError },
    #[error("flavor group not found: {0}")]
    UnknownGroup(GroupName),
    #[error("flavor group \"{group}\" is not configured to handle {resource} commitments")]
    NotHandled { group: GroupName, resource: ResourceType },
    #[error("commitment {0}: unexpected commitment format")]
    Format(CommitmentUuid),
    #[error("amount of commitment {0} is out of range")]
    OutOfRange(CommitmentUuid),
    #[error("commitment {0} appears more than once")]
    Repeated(CommitmentUuid),
    #[error("commitment {uuid} is in availability zone {zone}")]
    OtherZone { uuid: CommitmentUuid, zone: Zone },
    #[error("commitment {uuid} is for resource {resource}")]
    OtherResource { uuid: CommitmentUuid, resource: String },
    #[error("commitment {0} differs from an existing one only in case")]
    OtherCase(CommitmentUuid),
}

impl RequestError {
    /// Whether the request is refused as malformed in every case. Other errors refuse only a request that does not require
    /// confirmation, and are otherwise the reason of a rejection.
    pub fn is_malformed(&self) -> bool {
        !matches!(
            self,
            Self::UnknownResource { .. } | Self::UnknownGroup(_) | Self::NotHandled { .. } | Self::Format(_)
        )
    }

    /// The reason of a rejected dry run.
    pub fn dry_run_reason(&self) -> String {
        match self {
            Self::UnknownResource { error, .. } => format!("dry run: {error}"),
            other => format!("dry run: {other}"),
        }
    }
}

/// Refuses zones that no host is in.
pub fn check_zone(zone: &Zone) -> Result<(), RequestError> {
    if is_real_zone(zone) {
        Ok(())
    } else if zone.is_empty() {
        Err(RequestError::NoZone)
    } else {
        Err(RequestError::ReservedZone(zone.clone()))
    }
}

/// Whether a host can be in the zone: Limes has other names for sums.
pub(super) fn is_real_zone(zone: &Zone) -> bool {
    !matches!(zone.as_str(), "" | "any" | "unknown" | "total")
}

/// Checks the request and lists its commitments: by project, by name of the resource, and in the order of Limes. A
/// commitment that moves between projects is one item, at its first place. The error is that of the first item that
/// fails.
pub fn validate(request: &ChangeRequest, facts: &Facts<'_>) -> Result<Vec<Item>, RequestError> {
    check_zone(&request.zone)?;
    if request.dry_run {
        check_growth(request, facts)?;
    }
    let mut checked = Checked::default();
    for (project, changeset) in &request.by_project {
        for (name, changes) in &changeset.by_resource {
            let Some(resource) = resource_of(request, project, name, facts)? else { continue };
            for change in &changes.commitments {
                let item = resource.item(change, (project, changeset), request, facts)?;
                check_existing(&item, &request.zone, facts)?;
                checked.add(item, change)?;
            }
        }
    }
    if checked.items.len() > MAX_ITEMS { Err(RequestError::TooLarge) } else { Ok(checked.items) }
}

/// The resource of a changeset; `None` for one that a dry run leaves out.
fn resource_of(
    request: &ChangeRequest,
    project: &ProjectId,
    name: &str,
    facts: &Facts<'_>,
) -> Result<Option<Resource>, RequestError> {
    let resource = Resource::parse(name, project, facts);
    if request.dry_run {
        return Ok(resource.ok().filter(Resource::is_dry_run));
    }
    resource?.handled().map(Some)
}

/// In a dry run only resources that grow, over all projects, must be known.
fn check_growth(request: &ChangeRequest, facts: &Facts<'_>) -> Result<(), RequestError> {
    let mut growth: BTreeMap<&str, (&ProjectId, i128)> = BTreeMap::new();
    for (project, changeset) in &request.by_project {
        for (name, changes) in &changeset.by_resource {
            let total = |confirmed: u64, guaranteed: u64| i128::from(confirmed) + i128::from(guaranteed);
            let after = total(changes.total_confirmed_after, changes.total_guaranteed_after);
            let before = total(changes.total_confirmed_before, changes.total_guaranteed_before);
            growth.entry(name).or_insert((project, 0)).1 += after - before;
        }
    }
    let mut grown = growth.into_iter().filter(|(_, (_, delta))| *delta > 0);
    grown.try_for_each(|(name, (project, _))| Resource::parse(name, project, facts).map(|_| ()))
}

/// A resource of a known group.
struct Resource {
    group: GroupName,
    kind: ResourceType,
    unit: Option<RamUnit>,
    handles_commitments: bool,
    handles_dry_run: bool,
}

impl Resource {
    fn parse(name: &str, project: &ProjectId, facts: &Facts<'_>) -> Result<Self, RequestError> {
        let unknown = |error| RequestError::UnknownResource { project: project.clone(), error };
        let (group, resource) = parse_committed(name, Supported::RamAndCores).map_err(unknown)?;
        if facts.groups.get(&group).is_none() {
            return Err(RequestError::UnknownGroup(group));
        }
        let configured = facts.config.of(&group);
        let flags = configured.flags(resource);
        Ok(Self {
            group,
            kind: resource,
            unit: configured.ram_unit().ok(),
            handles_commitments: flags.handles_commitments,
            handles_dry_run: flags.handles_dry_run,
        })
    }

    fn handled(self) -> Result<Self, RequestError> {
        if self.handles_commitments {
            return Ok(self);
        }
        Err(RequestError::NotHandled { group: self.group, resource: self.kind })
    }

    fn is_dry_run(&self) -> bool {
        self.handles_commitments && self.handles_dry_run
    }

    fn item(
        &self,
        change: &RequestedCommitment,
        (project, changeset): (&ProjectId, &ProjectChangeset),
        request: &ChangeRequest,
        facts: &Facts<'_>,
    ) -> Result<Item, RequestError> {
        let item = Item {
            uuid: change.uuid.clone(),
            project: project.clone(),
            domain: changeset.project_metadata.domain.uuid.clone(),
            group: self.group.clone(),
            resource: self.kind,
            after: None,
        };
        let Some(status) = change.new_status else { return Ok(item) };
        if !can_name_an_object(&change.uuid) {
            return Err(RequestError::Format(change.uuid.clone()));
        }
        let after = self.commitment(&item, change, status, request, facts.now)?;
        Ok(Item { after: Some(after), ..item })
    }

    fn commitment(
        &self,
        item: &Item,
        change: &RequestedCommitment,
        status: State,
        request: &ChangeRequest,
        now: Timestamp,
    ) -> Result<LimesCommitment, RequestError> {
        let amount = self.unit.and_then(|unit| committed_amount(self.kind, change.amount, unit));
        Ok(LimesCommitment {
            uuid: item.uuid.clone(),
            group: item.group.clone(),
            resource: item.resource,
            amount: amount.ok_or_else(|| RequestError::OutOfRange(change.uuid.clone()))?,
            zone: request.zone.clone(),
            project: item.project.clone(),
            domain: item.domain.clone(),
            status,
            start: Start::requested(change.confirm_by, now),
            expires_at: change.expires_at,
        })
    }
}

/// A UUID is part of the name of the object, which must end with a letter or a digit.
fn can_name_an_object(uuid: &CommitmentUuid) -> bool {
    let bytes = uuid.as_str().as_bytes();
    (6..=40).contains(&bytes.len())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Refuses to change a commitment that is stored as another one.
fn check_existing(item: &Item, zone: &Zone, facts: &Facts<'_>) -> Result<(), RequestError> {
    let Some(existing) = facts.existing.get(&commitment_key(&item.uuid)) else { return Ok(()) };
    let uuid = item.uuid.clone();
    if existing.uuid != uuid {
        return Err(RequestError::OtherCase(uuid));
    }
    if existing.zone != *zone {
        return Err(RequestError::OtherZone { uuid, zone: existing.zone.clone() });
    }
    if (&existing.group, existing.resource) != (&item.group, item.resource) {
        let resource = resource_name(&existing.group, ResourceKind::from(existing.resource));
        return Err(RequestError::OtherResource { uuid, resource });
    }
    Ok(())
}

/// The items so far, and what may still become one of them.
#[derive(Default)]
struct Checked {
    items: Vec<Item>,
    /// By keys of commitments: the place of the item, and how much of a move between projects has been read.
    places: BTreeMap<CommitmentUuid, (usize, Part)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Source,
    Target,
    /// A whole move, or a change that is none.
    Whole,
}

impl Part {
    fn of(change: &RequestedCommitment) -> Self {
        match (change.old_status, change.new_status) {
            (Some(_), None) => Self::Source,
            (None, Some(_)) => Self::Target,
            _ => Self::Whole,
        }
    }
}

impl Checked {
    fn add(&mut self, item: Item, change: &RequestedCommitment) -> Result<(), RequestError> {
        let (key, part) = (commitment_key(&item.uuid), Part::of(change));
        let Some((place, known)) = self.places.get_mut(&key) else {
            self.places.insert(key, (self.items.len(), part));
            self.items.push(item);
            return Ok(());
        };
        let Some(other) = self.items.get_mut(*place) else { return Ok(()) };
        if other.uuid != item.uuid {
            return Err(RequestError::OtherCase(item.uuid));
        }
        if !is_move((other, *known), (&item, part)) {
            return Err(RequestError::Repeated(item.uuid));
        }
        *known = Part::Whole;
        if item.after.is_some() {
            *other = item;
        }
        Ok(())
    }
}

/// Whether two changes are the two sides of a move of the same resource to another project.
fn is_move((one, part): (&Item, Part), (other, other_part): (&Item, Part)) -> bool {
    matches!((part, other_part), (Part::Source, Part::Target) | (Part::Target, Part::Source))
        && one.project != other.project
        && (&one.group, one.resource) == (&other.group, other.resource)
}

#[cfg(test)]
mod tests;
