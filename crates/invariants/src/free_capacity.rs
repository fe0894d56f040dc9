//! The free capacity of a host. This is independent of the block formula of `berth-core`, which it checks.

use std::collections::BTreeSet;

use berth_crds::{Hypervisor, Reservation, ReservationType};
use kube::ResourceExt;

use crate::amounts::{offered, used};
use crate::snapshot::Snapshot;

/// One resource of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeCapacity {
    pub(crate) capacity: i128,
    pub(crate) vms: i128,
    pub(crate) blocked: i128,
    /// The sizes of the slots that name the host: our part of what is blocked, whatever VMs are in them.
    pub(crate) slots: i128,
}

impl FreeCapacity {
    pub(crate) fn free(self) -> i128 {
        self.capacity - self.vms - self.blocked
    }

    pub(crate) fn short(self) -> i128 {
        (-self.free()).max(0)
    }

    /// The capacity that others leave for slots. It decreases when a host shrinks, when VMs start, and with
    /// reservations of other types, but not when slots are created or grow, nor when VMs arrive in their slot.
    pub(crate) fn left_by_others(self) -> i128 {
        self.free() + self.slots
    }
}

/// A resource of a host; `None` if its capacity is unknown.
pub(crate) fn free_capacity(snapshot: &Snapshot, host: &Hypervisor, resource: &str) -> Option<FreeCapacity> {
    let status = host.status.as_ref()?;
    let map = if status.effective_capacity.is_empty() { &status.capacity } else { &status.effective_capacity };
    let capacity = offered(map, resource)?;
    let here: BTreeSet<&str> = status.instances.iter().map(|vm| vm.id.as_str()).collect();
    let mut counted = BTreeSet::new();
    let mut free = FreeCapacity { capacity, vms: used(&status.allocation, resource), blocked: 0, slots: 0 };
    for (_, reservation) in snapshot.reservations_on(&host.name_any()) {
        let size = used(&reservation.spec.resources, resource);
        if reservation.spec.type_ == ReservationType::CommittedResourceReservation {
            free.slots += size;
            free.blocked += block(reservation, size, resource, &here, &mut counted);
        } else {
            free.blocked += size;
        }
    }
    Some(free)
}

/// VMs that are here are in the allocation of the host already, each once; the others are still to come.
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
