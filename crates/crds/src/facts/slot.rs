//! A Reservation of a commitment as the planner sees it.

use std::borrow::Borrow;

use berth_core::HostName;
use berth_core::slot::Slot;
use kube::ResourceExt;

use super::values::{instant, size, status};
use crate::conditions::ready;
use crate::reservation::CommittedResourceReservationSpec;
use crate::{Reservation, labels};

/// The slot facts of a Reservation; without the data of a commitment it has neither commitment nor flavor. Whether the
/// scheduler has it in its waiting list is not in the object: `waiting` is false here.
pub fn slot(object: &Reservation) -> Slot {
    slot_beside(object, None)
}

/// The same for one of many: the names that it has in common with its `neighbour` are shared with it, so that a commitment
/// of thousands of slots has them in memory once.
pub fn slot_beside(object: &Reservation, neighbour: Option<&Slot>) -> Slot {
    let none = CommittedResourceReservationSpec::default();
    let data = object.spec.committed_resource_reservation.as_ref().unwrap_or(&none);
    let status_block = object.status.as_ref();
    let outcome = status_block.and_then(|status| status.committed_resource_reservation.as_ref());
    let ready = status_block.and_then(|status| ready(&status.conditions));
    let target_host = object.spec.target_host.as_deref().map(HostName::from);
    let status_host = status_block.and_then(|status| status.host.as_deref());
    Slot {
        name: object.metadata.name.as_deref().unwrap_or_default().into(),
        commitment: name(data.commitment_uuid.as_deref(), neighbour.map(|slot| &slot.commitment)),
        project: name(data.project_id.as_deref(), neighbour.map(|slot| &slot.project)),
        domain: name(data.domain_id.as_deref(), neighbour.map(|slot| &slot.domain)),
        group: name(data.resource_group.as_deref(), neighbour.map(|slot| &slot.group)),
        zone: name(object.spec.availability_zone.as_deref(), neighbour.map(|slot| &slot.zone)),
        flavor: name(data.resource_name.as_deref(), neighbour.map(|slot| &slot.flavor)),
        size: size(&object.spec.resources),
        status_host: status_host.map(|host| shared(host, target_host.as_ref())),
        target_host,
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

fn name<N: Clone + Borrow<str> + for<'t> From<&'t str>>(text: Option<&str>, known: Option<&N>) -> N {
    shared(text.unwrap_or_default(), known)
}

/// The name that is known, if it reads like this.
fn shared<N: Clone + Borrow<str> + for<'t> From<&'t str>>(text: &str, known: Option<&N>) -> N {
    let same = known.filter(|known| Borrow::<str>::borrow(*known) == text);
    same.cloned().unwrap_or_else(|| text.into())
}
