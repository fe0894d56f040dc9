//! A CommittedResource as the spec of a commitment.

use berth_core::Quantity;
use berth_core::commitment::{ResourceType, Spec, State};

use super::values::instant;
use crate::{CommitmentState, CommittedResource, CommittedResourceSpec, committed_resource};

/// The wanted spec.
pub fn spec(object: &CommittedResource) -> Spec {
    spec_of(&object.spec)
}

/// The spec of the last acceptance.
pub fn accepted_spec(object: &CommittedResource) -> Option<Spec> {
    object.status.as_ref()?.accepted_spec.as_ref().map(spec_of)
}

/// A spec, wherever it stands.
pub fn spec_of(spec: &CommittedResourceSpec) -> Spec {
    Spec {
        uuid: spec.commitment_uuid.as_str().into(),
        group: spec.flavor_group_name.as_str().into(),
        resource: match spec.resource_type {
            committed_resource::ResourceType::Memory => ResourceType::Memory,
            committed_resource::ResourceType::Cores => ResourceType::Cores,
        },
        amount: Quantity::parse(spec.amount.as_str()).unwrap_or_default(),
        zone: spec.availability_zone.as_str().into(),
        project: spec.project_id.as_str().into(),
        domain: spec.domain_id.as_str().into(),
        start: instant(spec.start_time.as_ref()),
        end: instant(spec.end_time.as_ref()),
        state: match spec.state {
            CommitmentState::Planned => State::Planned,
            CommitmentState::Pending => State::Pending,
            CommitmentState::Guaranteed => State::Guaranteed,
            CommitmentState::Confirmed => State::Confirmed,
            CommitmentState::Superseded => State::Superseded,
            CommitmentState::Expired => State::Expired,
        },
        allow_rejection: spec.allow_rejection,
    }
}
