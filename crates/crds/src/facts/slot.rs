//! A Reservation of a commitment as the planner sees it.

use berth_core::slot::Slot;
use kube::ResourceExt;

use super::{instant, size, status};
use crate::{Reservation, conditions::ready, labels, reservation::CommittedResourceReservationSpec};

/// The slot facts of a Reservation; without the data of a commitment it has neither commitment nor flavor. Whether the
/// scheduler has it in its waiting list is not in the object: `waiting` is false here.
pub fn slot(object: &Reservation) -> Slot {
    let none = CommittedResourceReservationSpec::default();
    let data = object.spec.committed_resource_reservation.as_ref().unwrap_or(&none);
    let text = |name: &Option<String>| name.as_deref().unwrap_or_default().to_owned();
    let status_block = object.status.as_ref();
    let outcome = status_block.and_then(|status| status.committed_resource_reservation.as_ref());
    let ready = status_block.and_then(|status| ready(&status.conditions));
    Slot {
        name: object.name_any().into(),
        commitment: text(&data.commitment_uuid).into(),
        project: text(&data.project_id).into(),
        domain: text(&data.domain_id).into(),
        group: text(&data.resource_group).into(),
        zone: text(&object.spec.availability_zone).into(),
        flavor: text(&data.resource_name).into(),
        size: size(&object.spec.resources),
        target_host: object.spec.target_host.as_deref().map(Into::into),
        status_host: status_block.and_then(|status| status.host.as_deref()).map(Into::into),
        expected: data.allocations.iter().map(|(vm, a)| (vm.as_str().into(), size(&a.resources))).collect(),
        start: instant(object.spec.start_time.as_ref()),
        end: instant(object.spec.end_time.as_ref()),
        parent_generation: data.parent_generation.unwrap_or_default(),
        observed_parent_generation: outcome.and_then(|o| o.observed_parent_generation).unwrap_or_default(),
        labelled: object.labels().get(labels::TYPE).is_some_and(|kind| kind == labels::TYPE_COMMITTED_RESOURCE),
        ready: ready.map(|ready| (status(ready), ready.reason.clone())),
        waiting: false,
        terminating: object.metadata.deletion_timestamp.is_some(),
    }
}
