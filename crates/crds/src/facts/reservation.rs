//! A Reservation of any type as far as capacity is concerned.

use berth_core::host::ConditionStatus;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{ClusterName, SlotKey};
use kube::ResourceExt;

use super::values::{size, status};
use crate::conditions::ready;
use crate::{self as crds, ReservationType};

/// The capacity of the object, and its hosts.
pub fn reservation(cluster: &ClusterName, object: &crds::Reservation) -> Reservation {
    let status_block = object.status.as_ref();
    let ready = status_block.and_then(|status| ready(&status.conditions));
    let slot = object.spec.committed_resource_reservation.as_ref();
    let failover = object.spec.failover_reservation.as_ref();
    let in_flight = object.spec.in_flight_reservation.as_ref();
    let project =
        slot.map_or_else(|| in_flight.and_then(|data| data.project_id.as_deref()), |s| s.project_id.as_deref());
    let group = slot.and_then(|data| data.resource_group.as_deref());
    Reservation {
        key: SlotKey::new(cluster.clone(), object.name_any()),
        kind: kind(object),
        project: project.unwrap_or_default().into(),
        group: group.or_else(|| failover?.resource_group.as_deref()).unwrap_or_default().into(),
        zone: object.spec.availability_zone.as_deref().unwrap_or_default().into(),
        size: size(&object.spec.resources),
        target_host: object.spec.target_host.as_deref().map(Into::into),
        status_host: status_block.and_then(|status| status.host.as_deref()).map(Into::into),
        ready: ready.is_some_and(|ready| status(ready) == ConditionStatus::True),
    }
}

fn kind(object: &crds::Reservation) -> ReservationKind {
    match object.spec.type_ {
        ReservationType::CommittedResourceReservation => {
            let allocations = object.spec.committed_resource_reservation.iter().flat_map(|data| &data.allocations);
            ReservationKind::Committed(allocations.map(|(vm, a)| (vm.as_str().into(), size(&a.resources))).collect())
        }
        ReservationType::FailoverReservation => {
            let data = object.status.as_ref().and_then(|status| status.failover_reservation.as_ref());
            let protected = data.iter().flat_map(|data| data.allocations.keys());
            ReservationKind::Failover(protected.map(|vm| vm.as_str().into()).collect())
        }
        ReservationType::InFlightReservation => {
            let vm = object.spec.in_flight_reservation.as_ref().and_then(|data| data.vm_id.as_deref());
            ReservationKind::InFlight(vm.unwrap_or_default().into())
        }
    }
}
