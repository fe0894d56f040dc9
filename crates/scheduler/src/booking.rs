//! Which slot of its project a VM goes into on the host that was chosen for it. The host is chosen elsewhere, and so is
//! who writes it.

use berth_capacity_view::View;
use berth_core::reservation::Reservation;
use berth_core::slot_choice::pick;
use berth_core::{Bytes, GroupName, HostName, Resources, SlotKey, VmId};

use crate::Request;

/// A VM of a flavor group, which commitments of its project may cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// The flavor group that its flavor is in.
    pub group: GroupName,
    /// Its size, from the data of the flavor group.
    pub size: Resources,
    /// The commitments of the project for it. Only their unused rest is booked.
    pub commitments: Commitments,
}

/// The commitments of a project for a flavor group and a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commitments {
    /// The project has none that are in force.
    None,
    UsedUp,
    Left,
}

/// A VM that belongs into a slot. Until the slot shows it, the claim keeps its part of the slot from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booking {
    pub vm: VmId,
    pub size: Resources,
    pub slot: SlotKey,
    /// Slots on other hosts that expect it and where it is not, or that an earlier answer wanted it to be written into:
    /// it leaves them.
    pub leaves: Vec<SlotKey>,
}

/// The slot that the VM of a request is to be written into; nothing when a slot of the host expects it already.
pub(crate) fn book(view: &View, request: &Request, guest: &Guest, host: &HostName) -> Option<Booking> {
    let vm = &request.instance;
    let options = &request.options;
    let refused = options.read_only || options.skip_committed_resource_tracking || request.instances > 1;
    if refused || guest.commitments != Commitments::Left || seat(view, vm, host).is_some() {
        return None;
    }
    let slots = view.slots_of(&request.project, &guest.group).filter(|slot| slot.target_host.as_ref() == Some(host));
    let candidates: Vec<(&SlotKey, Bytes)> = slots.map(|slot| (&slot.key, remaining(view, slot, vm))).collect();
    // A request that is repeated must not book the VM a second time while the first booking is being written.
    let former = view.claim_of(vm).and_then(|claim| claim.slot.as_ref());
    let again = former.filter(|former| candidates.iter().any(|(key, left)| key == former && *left > Bytes::ZERO));
    let slot = again.or_else(|| pick(candidates, guest.size.memory))?.clone();
    let mut leaves: Vec<SlotKey> = unconfirmed(view, vm, host).map(|slot| slot.key.clone()).collect();
    leaves.extend(former.filter(|former| **former != slot && !leaves.contains(former)).cloned());
    Some(Booking { vm: vm.clone(), size: guest.size, slot, leaves })
}

/// The slot of the host that expects the VM.
pub(crate) fn seat<'v>(view: &'v View, vm: &VmId, host: &HostName) -> Option<&'v SlotKey> {
    let mut here = view.slots_expecting(vm).filter(|slot| slot.target_host.as_ref() == Some(host));
    here.next().map(|slot| &slot.key)
}

/// The slots elsewhere that expect the VM although it is not there.
fn unconfirmed<'v>(view: &'v View, vm: &VmId, host: &HostName) -> impl Iterator<Item = &'v Reservation> {
    let elsewhere = view.slots_expecting(vm).filter(move |slot| slot.target_host.as_ref() != Some(host));
    elsewhere.filter(move |slot| !slot.hosts().any(|host| lists(view, host, vm)))
}

fn lists(view: &View, host: &HostName, vm: &VmId) -> bool {
    let state = view.id(host).and_then(|id| view.state(id));
    state.is_some_and(|state| state.host().instances.contains_key(vm))
}

/// The memory of a slot that no VM is expected in or was booked for, apart from one VM's own booking. As for the block
/// a VM that is there takes free capacity in the first of its slots only.
pub(crate) fn remaining(view: &View, slot: &Reservation, own: &VmId) -> Bytes {
    let expected = slot.expected().filter(|(vm, _)| !counts_before(view, slot, vm));
    let expected: Bytes = expected.map(|(_, size)| size.memory.at_least_zero()).sum();
    let claims = slot.target_host.iter().flat_map(|host| view.claims_on(host));
    let booked: Bytes = claims
        .filter(|claim| claim.slot.as_ref() == Some(&slot.key) && claim.instance != *own)
        .filter(|claim| slot.expected().all(|(vm, _)| *vm != claim.instance))
        .map(|claim| claim.size.memory.at_least_zero())
        .sum();
    (slot.size.memory - expected - booked).at_least_zero()
}

/// Whether a VM is there and counts in a slot of the same host that comes before this one.
fn counts_before(view: &View, slot: &Reservation, vm: &VmId) -> bool {
    let Some(host) = slot.target_host.as_ref().filter(|host| lists(view, host, vm)) else { return false };
    view.slots_expecting(vm).any(|other| other.key < slot.key && other.hosts().any(|name| name == host))
}
