//! Minimal objects for the tests of other crates, which change single fields.

use std::collections::BTreeMap;

use kube::Resource;

use crate::commitment_change::{ChangeItem, CommitmentBefore, SlotBefore};
use crate::reservation::CommittedResourceReservationSpec;
use crate::{
    CommitmentChange, CommitmentChangeSpec, CommitmentState, CommittedResource, CommittedResourceSpec, Hypervisor,
    HypervisorSpec, HypervisorStatus, Knowledge, KnowledgeSpec, MicroTime, Pipeline, PipelineSpec, Quantity,
    Reservation, ReservationSpec, ReservationType, ResourceType, labels, names, resources,
};

/// The zone of all these objects.
pub const ZONE: &str = "eu-test-1a";

/// The project of all these objects.
pub const PROJECT: &str = "5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40";

/// The domain of all these objects.
pub const DOMAIN: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// The flavor group of all these objects.
pub const GROUP: &str = "mem_v4";

/// The smallest flavor of [`GROUP`]: 30 cores, 480 GiB.
pub const FLAVOR: &str = "mem_v4_c30_m480";

/// A resource map as Reservations and Hypervisors have it.
pub fn size(memory: &str, cpu: &str) -> BTreeMap<String, Quantity> {
    [(resources::MEMORY, memory), (resources::CPU, cpu)].map(|(key, amount)| (key.to_owned(), amount.into())).into()
}

/// A confirmed commitment of an amount of memory that does not allow rejection and never ends.
pub fn commitment(uuid: &str, amount: &str) -> CommittedResource {
    let spec = CommittedResourceSpec {
        commitment_uuid: uuid.to_owned(),
        scheduling_domain: Some(labels::NOVA.to_owned()),
        flavor_group_name: GROUP.to_owned(),
        resource_type: ResourceType::Memory,
        amount: amount.into(),
        availability_zone: ZONE.to_owned(),
        project_id: PROJECT.to_owned(),
        domain_id: DOMAIN.to_owned(),
        state: CommitmentState::Confirmed,
        ..CommittedResourceSpec::default()
    };
    let mut commitment = CommittedResource::new(&names::commitment(uuid), spec);
    commitment.metadata.generation = Some(1);
    commitment
}

/// Slot `number` of a commitment, of the size of [`FLAVOR`], without a host.
pub fn slot(uuid: &str, number: u64) -> Reservation {
    let slot = CommittedResourceReservationSpec {
        resource_name: Some(FLAVOR.to_owned()),
        commitment_uuid: Some(uuid.to_owned()),
        resource_group: Some(GROUP.to_owned()),
        project_id: Some(PROJECT.to_owned()),
        domain_id: Some(DOMAIN.to_owned()),
        creator: Some(labels::SLOT_CREATOR.to_owned()),
        parent_generation: Some(1),
        ..CommittedResourceReservationSpec::default()
    };
    let spec = ReservationSpec {
        type_: ReservationType::CommittedResourceReservation,
        scheduling_domain: Some(labels::NOVA.to_owned()),
        availability_zone: Some(ZONE.to_owned()),
        resources: size("480Gi", "30"),
        committed_resource_reservation: Some(slot),
        ..ReservationSpec::default()
    };
    let mut reservation = Reservation::new(&names::slot(&names::commitment(uuid), number), spec);
    reservation.metadata.labels = Some(one(labels::TYPE, labels::TYPE_COMMITTED_RESOURCE));
    reservation.metadata.annotations = Some(one(labels::COMMITMENT_UID, uuid));
    reservation
}

/// A change of an amount of memory of confirmed commitments, each with one slot, without a status.
pub fn commitment_change(name: &str, uuids: &[&str]) -> CommitmentChange {
    let spec = CommitmentChangeSpec {
        request_id: format!("committed-resource-{name}"),
        availability_zone: ZONE.to_owned(),
        requires_confirmation: true,
        deadline: MicroTime(jiff::Timestamp::UNIX_EPOCH),
        item_count: i64::try_from(uuids.len()).unwrap_or(i64::MAX),
        items: uuids.iter().map(|uuid| change_item(uuid)).collect(),
        slots_gzip: None,
    };
    let mut change = CommitmentChange::new(&format!("change-{name}"), spec);
    change.metadata.labels = Some(one(labels::AZ, ZONE));
    change.metadata.generation = Some(1);
    change
}

fn change_item(uuid: &str) -> ChangeItem {
    let spec = commitment(uuid, "480Gi").spec;
    let after = CommittedResourceSpec { amount: "960Gi".into(), ..spec.clone() };
    let before = CommitmentBefore { spec, generation: 1, uid: format!("uid of {uuid}"), ..CommitmentBefore::default() };
    let name = names::slot(&names::commitment(uuid), 0);
    let slot = SlotBefore { name, target_host: None, resources: size("480Gi", "30") };
    ChangeItem { commitment_uuid: uuid.to_owned(), before: Some(before), slots: vec![slot], after: Some(after) }
}

/// An empty host with an effective capacity.
pub fn hypervisor(name: &str, memory: &str, cpu: &str) -> Hypervisor {
    let mut host = Hypervisor::new(name, HypervisorSpec::default());
    host.metadata.labels = Some(one(labels::ZONE, ZONE));
    host.status = Some(HypervisorStatus { effective_capacity: size(memory, cpu), ..HypervisorStatus::default() });
    host
}

/// The object of flavor groups, without any group.
pub fn flavor_groups() -> Knowledge {
    let spec = KnowledgeSpec { scheduling_domain: labels::NOVA.to_owned(), ..KnowledgeSpec::default() };
    Knowledge::new(names::FLAVOR_GROUPS, spec)
}

/// A pipeline without a step.
pub fn pipeline(name: &str) -> Pipeline {
    Pipeline::new(name, PipelineSpec { scheduling_domain: labels::NOVA.to_owned(), ..PipelineSpec::default() })
}

/// The object as a watch shows it at a version.
pub fn at_version<K: Resource>(version: u32, mut object: K) -> K {
    let meta = object.meta_mut();
    meta.uid = Some(format!("uid of {}", meta.name.as_deref().unwrap_or_default()));
    meta.resource_version = Some(version.to_string());
    object
}

/// Slot 0 of the commitment `u` at a version, with this target host.
pub fn slot_at(version: u32, host: Option<&str>) -> Reservation {
    let mut slot = at_version(version, slot("u", 0));
    slot.spec.target_host = host.map(Into::into);
    slot
}

/// The pipeline `p` at a version, with this generation.
pub fn pipeline_at(version: u32, generation: i64) -> Pipeline {
    let mut pipeline = at_version(version, pipeline("p"));
    pipeline.metadata.generation = Some(generation);
    pipeline
}

fn one(key: &str, value: &str) -> BTreeMap<String, String> {
    [(key.to_owned(), value.to_owned())].into()
}
