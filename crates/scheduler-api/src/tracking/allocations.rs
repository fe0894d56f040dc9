//! The VMs that a slot expects, with one more or one less: functions of the object.

use berth_core::{Resources, VmId};
use berth_crds::conditions::whole_seconds;
use berth_crds::{Allocation, Reservation, facts};
use jiff::Timestamp;

/// The change of a slot.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    Nothing,
    Gone,
    Write(Box<Reservation>),
}

pub fn enter(slot: &Reservation, vm: &VmId, size: Resources, now: Timestamp) -> Edit {
    let mut new = slot.clone();
    let Some(data) = &mut new.spec.committed_resource_reservation else { return Edit::Gone };
    if slot.metadata.deletion_timestamp.is_some() {
        return Edit::Gone;
    }
    if data.allocations.contains_key(vm.as_str()) {
        return Edit::Nothing;
    }
    let allocation = Allocation { creation_timestamp: whole_seconds(now), resources: facts::resource_map(size) };
    data.allocations.insert(vm.to_string(), allocation);
    Edit::Write(Box::new(new))
}

/// The slot does not expect the VM any more. A VM that was seen on its host stays.
pub fn leave(slot: &Reservation, vm: &VmId) -> Edit {
    let mut new = slot.clone();
    let status = slot.status.as_ref().and_then(|status| status.committed_resource_reservation.as_ref());
    if status.is_some_and(|status| status.allocations.contains_key(vm.as_str())) {
        return Edit::Nothing;
    }
    let data = new.spec.committed_resource_reservation.as_mut();
    match data.and_then(|data| data.allocations.remove(vm.as_str())) {
        Some(_) => Edit::Write(Box::new(new)),
        None => Edit::Nothing,
    }
}
