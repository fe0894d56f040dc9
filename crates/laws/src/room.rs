//! What is free on a host: document 21 section 9 with U5 and U35, written anew and on purpose without the block of
//! `berth-core`, which it judges.

use std::collections::BTreeSet;

use berth_crds::{Hypervisor, Reservation, ReservationType};
use kube::ResourceExt;

use crate::amounts::{offered, used};
use crate::snapshot::Snapshot;

/// One resource of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// What the host offers.
    pub(crate) capacity: i128,
    /// What its VMs use.
    pub(crate) vms: i128,
    /// What reservations block besides.
    pub(crate) blocked: i128,
    /// The sizes of the slots that name the host: our part of what is blocked, whatever VMs are in them.
    pub(crate) slots: i128,
}

impl Room {
    /// Below zero the host is over-booked.
    pub(crate) fn free(self) -> i128 {
        self.capacity - self.vms - self.blocked
    }

    /// What is too much.
    pub(crate) fn short(self) -> i128 {
        (-self.free()).max(0)
    }

    /// What others leave for slots. It falls with a host that shrinks, VMs that come and reservations of other types,
    /// and not with slots that come or grow, nor with VMs that arrive in their slot.
    pub(crate) fn left_by_others(self) -> i128 {
        self.free() + self.slots
    }
}

/// A resource of a host; nothing when the host does not say what it has.
pub(crate) fn room(snapshot: &Snapshot, host: &Hypervisor, resource: &str) -> Option<Room> {
    let status = host.status.as_ref()?;
    let map = if status.effective_capacity.is_empty() { &status.capacity } else { &status.effective_capacity };
    let capacity = offered(map, resource)?;
    let here: BTreeSet<&str> = status.instances.iter().map(|vm| vm.id.as_str()).collect();
    let mut counted = BTreeSet::new();
    let mut room = Room { capacity, vms: used(&status.allocation, resource), blocked: 0, slots: 0 };
    for (_, reservation) in snapshot.reservations_on(&host.name_any()) {
        let size = used(&reservation.spec.resources, resource);
        if reservation.spec.type_ == ReservationType::CommittedResourceReservation {
            room.slots += size;
            room.blocked += block(reservation, size, resource, &here, &mut counted);
        } else {
            room.blocked += size;
        }
    }
    Some(room)
}

/// U35: VMs that are here are in the allocation of the host already, each once; the others are still to come.
fn block<'a>(
    slot: &'a Reservation,
    size: i128,
    resource: &str,
    here: &BTreeSet<&str>,
    counted: &mut BTreeSet<&'a str>,
) -> i128 {
    let vms = slot.spec.committed_resource_reservation.iter().flat_map(|data| &data.allocations);
    let (mut arrived, mut to_come) = (0, 0);
    for (vm, allocation) in vms {
        let size = used(&allocation.resources, resource);
        if !here.contains(vm.as_str()) {
            to_come += size;
        } else if counted.insert(vm.as_str()) {
            arrived += size;
        }
    }
    (size - arrived).max(0).max(to_come)
}
