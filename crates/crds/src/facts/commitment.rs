//! A CommittedResource as the spec of a commitment.

use berth_core::Quantity;
use berth_core::commitment::{ResourceType, Spec, State};
use berth_core::quantity::{binary, decimal};

use super::values::instant;
use crate::conditions::commitment::Reason;
use crate::{CommitmentState, CommittedResource, CommittedResourceSpec, Time, committed_resource, conditions, labels};

/// The wanted spec.
pub fn spec(object: &CommittedResource) -> Spec {
    spec_of(&object.spec)
}

/// The spec of the last acceptance.
pub fn accepted_spec(object: &CommittedResource) -> Option<Spec> {
    object.status.as_ref()?.accepted_spec.as_ref().map(spec_of)
}

/// Whether another object with the same UUID is served in its place, as its condition says.
pub fn is_duplicate(object: &CommittedResource) -> bool {
    let ready = object.status.as_ref().and_then(|status| conditions::ready(&status.conditions));
    ready.is_some_and(|ready| Reason::parse(&ready.reason) == Some(Reason::DuplicateUuid))
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

/// The spec as it is written. One that means the same as the `stored` one is the stored one, so that nothing is written.
pub fn written_spec(spec: &Spec, stored: Option<&CommittedResourceSpec>) -> CommittedResourceSpec {
    match stored {
        Some(stored) if spec_of(stored) == *spec => stored.clone(),
        _ => {
            CommittedResourceSpec { confirmed_at: stored.and_then(|stored| stored.confirmed_at.clone()), ..wire(spec) }
        }
    }
}

/// The same commitment, holding nothing.
pub fn superseded_spec(spec: &CommittedResourceSpec) -> CommittedResourceSpec {
    CommittedResourceSpec { state: CommitmentState::Superseded, amount: "0".into(), ..spec.clone() }
}

fn wire(spec: &Spec) -> CommittedResourceSpec {
    let (resource_type, amount) = match spec.resource {
        ResourceType::Memory => (committed_resource::ResourceType::Memory, binary(spec.memory().get())),
        ResourceType::Cores => (committed_resource::ResourceType::Cores, decimal(spec.cores().get())),
    };
    CommittedResourceSpec {
        commitment_uuid: spec.uuid.to_string(),
        scheduling_domain: Some(labels::NOVA.to_owned()),
        flavor_group_name: spec.group.to_string(),
        resource_type,
        amount: amount.into(),
        availability_zone: spec.zone.to_string(),
        project_id: spec.project.to_string(),
        domain_id: spec.domain.to_string(),
        start_time: spec.start.map(Time),
        end_time: spec.end.map(Time),
        confirmed_at: None,
        state: state(spec.state),
        allow_rejection: spec.allow_rejection,
    }
}

fn state(state: State) -> CommitmentState {
    match state {
        State::Planned => CommitmentState::Planned,
        State::Pending => CommitmentState::Pending,
        State::Guaranteed => CommitmentState::Guaranteed,
        State::Confirmed => CommitmentState::Confirmed,
        State::Superseded => CommitmentState::Superseded,
        State::Expired => CommitmentState::Expired,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_spec_reads_as_it_was_written(
            amount in 0..i64::MAX >> 21,
            is_memory in any::<bool>(),
            state in prop::sample::select(vec![State::Planned, State::Pending, State::Confirmed, State::Superseded]),
            (start, end) in (prop::option::of(0..4_000_000_000_i64), prop::option::of(0..4_000_000_000_i64)),
            allow_rejection in any::<bool>(),
        ) {
            let time = |second: i64| Timestamp::from_second(second).unwrap();
            let (resource, amount) =
                if is_memory { (ResourceType::Memory, amount << 20) } else { (ResourceType::Cores, amount) };
            let spec = Spec {
                resource,
                amount: Quantity::from_units(amount),
                state,
                start: start.map(time),
                end: end.map(time),
                allow_rejection,
                ..berth_core::testing::spec("1Gi")
            };
            prop_assert_eq!(spec_of(&wire(&spec)), spec);
        }
    }

    #[test]
    fn amounts_are_written_in_the_form_of_the_object() {
        for (resource, amount, text) in [
            (ResourceType::Memory, 960 << 30, "960Gi"),
            (ResourceType::Memory, 0, "0"),
            (ResourceType::Cores, 40, "40"),
            (ResourceType::Cores, 1000, "1k"),
        ] {
            let amount = Quantity::from_units(amount);
            let spec = Spec { resource, amount, ..berth_core::testing::spec("1Gi") };
            assert_eq!(wire(&spec).amount.as_str(), text);
        }
    }
}
