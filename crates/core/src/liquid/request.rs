//! A request of Limes to review and apply changes of commitments in one availability zone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Deserialize;
use thiserror::Error;

use super::wire::{self, Object};
use crate::commitment::State;
use crate::ids::{CommitmentUuid, DomainId, ProjectId, Zone};
use crate::text::escape_line;

/// The request. Members that Berth does not know are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangeRequest {
    #[serde(rename = "az", deserialize_with = "wire::or_default")]
    pub zone: Zone,
    #[serde(deserialize_with = "wire::or_default")]
    pub dry_run: bool,
    /// The version of the service info that Limes acts on.
    #[serde(deserialize_with = "wire::or_default")]
    pub info_version: i64,
    #[serde(deserialize_with = "wire::objects")]
    pub by_project: BTreeMap<ProjectId, ProjectChangeset>,
}

/// The changes of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectChangeset {
    #[serde(deserialize_with = "wire::object")]
    pub project_metadata: ProjectMetadata,
    /// By names of resources.
    #[serde(deserialize_with = "wire::objects")]
    pub by_resource: BTreeMap<String, ResourceChangeset>,
}

/// What Limes says about a project; all empty if it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProjectMetadata {
    #[serde(deserialize_with = "wire::or_default")]
    pub uuid: ProjectId,
    #[serde(deserialize_with = "wire::or_default")]
    pub name: String,
    #[serde(deserialize_with = "wire::object")]
    pub domain: DomainMetadata,
}

/// The domain of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DomainMetadata {
    #[serde(deserialize_with = "wire::or_default")]
    pub uuid: DomainId,
    #[serde(deserialize_with = "wire::or_default")]
    pub name: String,
}

/// The changes of one resource of a project, with the sums of all its commitments in the zone, in declared units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceChangeset {
    #[serde(deserialize_with = "wire::or_default")]
    pub total_confirmed_before: u64,
    #[serde(deserialize_with = "wire::or_default")]
    pub total_confirmed_after: u64,
    #[serde(deserialize_with = "wire::or_default")]
    pub total_guaranteed_before: u64,
    #[serde(deserialize_with = "wire::or_default")]
    pub total_guaranteed_after: u64,
    /// In the order in which Limes processes them.
    #[serde(deserialize_with = "wire::list")]
    pub commitments: Vec<RequestedCommitment>,
}

/// The change of one commitment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestedCommitment {
    #[serde(deserialize_with = "wire::or_default")]
    pub uuid: CommitmentUuid,
    /// Absent: the commitment is new in this project and resource.
    #[serde(deserialize_with = "wire::status")]
    pub old_status: Option<State>,
    /// Absent: the commitment is deleted from this project and resource.
    #[serde(deserialize_with = "wire::status")]
    pub new_status: Option<State>,
    /// In declared units.
    #[serde(deserialize_with = "wire::or_default")]
    pub amount: u64,
    #[serde(deserialize_with = "wire::time")]
    pub confirm_by: Option<Timestamp>,
    /// Absent: the commitment does not end.
    #[serde(deserialize_with = "wire::time")]
    pub expires_at: Option<Timestamp>,
    /// Present if the end of an existing commitment changes.
    #[serde(deserialize_with = "wire::any_time")]
    pub old_expires_at: Option<Timestamp>,
}

/// The body is not such a request; the text names the member.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct DecodeError(String);

impl DecodeError {
    /// Texts of clients are quoted with bounded length.
    pub(super) fn of(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        const MOST: usize = 300;
        Self(escape_line(&error.to_string(), MOST))
    }
}

impl ChangeRequest {
    /// Reads a body. Text after the JSON value is ignored.
    pub fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let mut json = serde_json::Deserializer::from_slice(body);
        let request: Result<Object<Self>, _> = serde_path_to_error::deserialize(&mut json);
        request.map(|object| object.0).map_err(|error| DecodeError::of(&error))
    }

    /// Whether Limes does not go on without our consent. Limes computes the same, so this follows the protocol to the letter:
    /// sums wrap at 64 bits.
    pub fn requires_confirmation(&self) -> bool {
        self.changesets().any(ResourceChangeset::requires_confirmation)
    }

    /// The number of changes, a commitment that moves between projects counting twice.
    pub fn len(&self) -> usize {
        self.changesets().map(|changeset| changeset.commitments.len()).sum()
    }

    /// True without any change of a commitment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The UUIDs in lower case: what exists under them has to be known to check the request.
    pub fn commitment_keys(&self) -> BTreeSet<CommitmentUuid> {
        let changes = self.changesets().flat_map(|changeset| &changeset.commitments);
        changes.map(|change| commitment_key(&change.uuid)).collect()
    }

    fn changesets(&self) -> impl Iterator<Item = &ResourceChangeset> {
        self.by_project.values().flat_map(|project| project.by_resource.values())
    }
}

/// The UUID in lower case, as in the name of the object: two UUIDs that differ only in case have one object.
pub fn commitment_key(uuid: &CommitmentUuid) -> CommitmentUuid {
    uuid.as_str().to_ascii_lowercase().into()
}

impl ResourceChangeset {
    fn requires_confirmation(&self) -> bool {
        self.commitments.iter().any(RequestedCommitment::is_prolongation) || !self.totals_are_explained()
    }

    /// Whether the totals are equal, or differ only by what ends and by guarantees that are confirmed.
    fn totals_are_explained(&self) -> bool {
        let confirmed = (self.total_confirmed_before, self.total_confirmed_after);
        let guaranteed = (self.total_guaranteed_before, self.total_guaranteed_after);
        if confirmed.0 == confirmed.1 && guaranteed.0 == guaranteed.1 {
            return true;
        }
        let sum = |is_counted: fn(&RequestedCommitment) -> bool| {
            let counted = self.commitments.iter().filter(|change| is_counted(change));
            counted.fold(0_u64, |sum, change| sum.wrapping_add(change.amount))
        };
        let ended = sum(|change| change.old_status == Some(State::Confirmed) && change.is_end());
        let ended_guarantees = sum(|change| change.old_status == Some(State::Guaranteed) && change.is_end());
        let fulfilled = sum(RequestedCommitment::is_fulfilled_guarantee);
        let guarantees_gone = ended_guarantees.wrapping_add(fulfilled);
        confirmed.0.wrapping_add(fulfilled) == confirmed.1.wrapping_add(ended)
            && guaranteed.0 == guaranteed.1.wrapping_add(guarantees_gone)
    }
}

impl RequestedCommitment {
    fn is_prolongation(&self) -> bool {
        matches!(self.new_status, Some(State::Confirmed | State::Guaranteed)) && self.old_expires_at.is_some()
    }

    fn is_end(&self) -> bool {
        matches!(self.new_status, None | Some(State::Expired))
    }

    fn is_fulfilled_guarantee(&self) -> bool {
        (self.old_status, self.new_status) == (Some(State::Guaranteed), Some(State::Confirmed))
    }
}

#[cfg(test)]
mod tests;
