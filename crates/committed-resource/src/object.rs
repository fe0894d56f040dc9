//! Slots as objects: the form of a new Reservation and the changes of an existing one.

use berth_core::planner::{NewSlot, Target};
use berth_core::{HostName, Resources};
use berth_crds::reservation::CommittedResourceReservationSpec;
use berth_crds::{Allocation, Reservation, ReservationSpec, ReservationType, Time, facts, labels};
use jiff::Timestamp;

/// The creator of slots, and the commitment for which they are created.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Correlates the slot with the request or reconciliation that created it.
    pub request_id: String,
    /// `metadata.uid` of the commitment: marks slots as made by us.
    pub commitment_uid: String,
    pub creator: &'static str,
}

pub fn created(
    target: &Target,
    new: &NewSlot,
    host: Option<&HostName>,
    origin: &Origin,
    now: Timestamp,
) -> Reservation {
    let allocation = |size| Allocation { creation_timestamp: Time(now), resources: facts::resource_map(size) };
    let mut object = Reservation::new(
        new.name.as_str(),
        ReservationSpec {
            type_: ReservationType::CommittedResourceReservation,
            scheduling_domain: Some(labels::NOVA.to_owned()),
            availability_zone: Some(target.zone.to_string()),
            resources: facts::resource_map(new.size),
            start_time: target.start.map(Time),
            end_time: target.end.map(Time),
            target_host: host.map(ToString::to_string),
            committed_resource_reservation: Some(CommittedResourceReservationSpec {
                resource_name: Some(new.flavor.name.to_string()),
                commitment_uuid: Some(target.commitment.to_string()),
                resource_group: Some(target.group.to_string()),
                project_id: Some(target.project.to_string()),
                domain_id: Some(target.domain.to_string()).filter(|domain| !domain.is_empty()),
                creator: Some(origin.creator.to_owned()),
                parent_generation: Some(target.generation),
                allocations: new.vms().into_iter().map(|(vm, size)| (vm.to_string(), allocation(size))).collect(),
            }),
            ..ReservationSpec::default()
        },
    );
    object.metadata.labels = Some([label()].into());
    object.metadata.annotations = Some(
        [
            (labels::CREATOR_REQUEST_ID.to_owned(), origin.request_id.clone()),
            (labels::COMMITMENT_UID.to_owned(), origin.commitment_uid.clone()),
        ]
        .into(),
    );
    object
}

/// A kept slot with the changes of the plan. Equal values keep their spelling, so that only real differences are
/// written.
pub fn updated(old: &Reservation, target: &Target, size: Resources, origin: &Origin) -> Reservation {
    let mut object = old.clone();
    object.metadata.labels.get_or_insert_default().extend([label()]);
    let spec = &mut object.spec;
    resize(spec, size);
    copy_time(&mut spec.start_time, target.start);
    copy_time(&mut spec.end_time, target.end);
    let slot = spec.committed_resource_reservation.get_or_insert_default();
    slot.commitment_uuid = Some(target.commitment.to_string());
    slot.domain_id = Some(target.domain.to_string()).filter(|domain| !domain.is_empty());
    slot.parent_generation = Some(target.generation);
    slot.creator = Some(origin.creator.to_owned());
    object
}

/// A slot of another commitment of the same change as a slot of this one. Its name, host, size and VMs stay, and so does the
/// generation that it is checked against.
pub fn taken_over(old: &Reservation, target: &Target, origin: &Origin) -> Reservation {
    let mut object = old.clone();
    let spec = &mut object.spec;
    copy_time(&mut spec.start_time, target.start);
    copy_time(&mut spec.end_time, target.end);
    let slot = spec.committed_resource_reservation.get_or_insert_default();
    let from = slot.commitment_uuid.replace(target.commitment.to_string()).unwrap_or_default();
    slot.domain_id = Some(target.domain.to_string()).filter(|domain| !domain.is_empty());
    let annotations = object.metadata.annotations.get_or_insert_default();
    annotations.insert(labels::COMMITMENT_UID.to_owned(), origin.commitment_uid.clone());
    if object.metadata.name.as_deref().is_some_and(|name| name.starts_with(&target.prefix)) {
        annotations.remove(labels::INHERITED_FROM);
    } else {
        annotations.insert(labels::INHERITED_FROM.to_owned(), from);
    }
    object
}

fn label() -> (String, String) {
    (labels::TYPE.to_owned(), labels::TYPE_COMMITTED_RESOURCE.to_owned())
}

fn resize(spec: &mut ReservationSpec, size: Resources) {
    let old = facts::size(&spec.resources);
    for (name, amount) in facts::resource_map(size) {
        let same = if name == berth_crds::resources::MEMORY { old.memory == size.memory } else { old.cpu == size.cpu };
        if !same || !spec.resources.contains_key(&name) {
            spec.resources.insert(name, amount);
        }
    }
}

fn copy_time(field: &mut Option<Time>, wanted: Option<Timestamp>) {
    if field.as_ref().map(|time| time.0) != wanted {
        *field = wanted.map(Time);
    }
}

#[cfg(test)]
mod tests {
    use berth_core::flavor::Flavor;
    use berth_core::{Bytes, Cores};

    use super::*;

    fn target() -> Target {
        Target {
            commitment: "uuid-1".into(),
            project: "project".into(),
            domain: "".into(),
            group: "amber".into(),
            zone: "az-a".into(),
            memory: Bytes::from_mib(1024),
            start: None,
            end: Timestamp::from_second(1_772_366_400).ok(),
            generation: 3,
            prefix: "commitment-uuid-1-".to_owned(),
        }
    }

    fn origin() -> Origin {
        Origin { request_id: "req-1".to_owned(), commitment_uid: "uid-1".to_owned(), creator: labels::SLOT_CREATOR }
    }

    fn slot() -> Reservation {
        let flavor = Flavor { name: "f".into(), vcpus: 4, memory_mib: 2048, disk_gib: 0, extra_specs: [].into() };
        let size = flavor.part(Bytes::from_mib(1024));
        let new = NewSlot { name: "commitment-uuid-1-0".into(), number: 0, flavor, size, prefer: None, around: None };
        created(&target(), &new, Some(&"node-1".into()), &origin(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn the_slot_object() {
        let json = serde_json::to_value(slot()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
                "metadata": {
                    "name": "commitment-uuid-1-0",
                    "labels": {"reservations.cortex.cloud/type": "committed-resource"},
                    "annotations": {
                        "reservations.cortex.cloud/creator-request-id": "req-1",
                        "reservations.cortex.cloud/commitment-uid": "uid-1"
                    }
                },
                "spec": {
                    "type": "CommittedResourceReservation", "schedulingDomain": "nova", "availabilityZone": "az-a",
                    "endTime": "2026-03-01T12:00:00Z", "targetHost": "node-1",
                    "resources": {"memory": "1Gi", "cpu": "2"},
                    "committedResourceReservation": {
                        "commitmentUUID": "uuid-1", "resourceName": "f", "resourceGroup": "amber",
                        "projectID": "project", "creator": "committed-resource-controller", "parentGeneration": 3
                    }
                }
            })
        );
    }

    #[test]
    fn what_reports_the_same_keeps_its_spelling() {
        let mut old = slot();
        old.spec.resources.insert("memory".to_owned(), "1024Mi".into());
        let same = updated(&old, &target(), Resources::new(Bytes::from_mib(1024), Cores::new(2)), &origin());
        assert_eq!(same, old);
        let cut = updated(&old, &target(), Resources::new(Bytes::from_mib(512), Cores::new(1)), &origin());
        assert_eq!(facts::size(&cut.spec.resources), Resources::new(Bytes::from_mib(512), Cores::new(1)));
    }

    #[test]
    fn a_removed_end_is_cleared() {
        let open = Target { end: None, ..target() };
        let size = facts::size(&slot().spec.resources);
        assert_eq!(updated(&slot(), &open, size, &origin()).spec.end_time, None);
    }
}
