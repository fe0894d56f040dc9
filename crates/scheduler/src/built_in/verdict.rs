//! Whether the host that a slot names is good for it (U54, repair of D10). What is done about it is for the
//! Reservation controller.

use berth_capacity_view::{HostState, View};
use berth_core::{
    Resources, SlotKey,
    reservation::{Reservation, ReservationKind},
};

use crate::Verdict;

pub(super) fn verdict(view: &View, key: &SlotKey) -> Verdict {
    let Some(slot) = view.reservation(key) else { return Verdict::Ok };
    let Some(target) = &slot.target_host else { return Verdict::Ok };
    let Some(state) = view.id(target).and_then(|id| view.state(id)) else { return Verdict::NoSuchHost };
    let zone = &state.host().zone;
    if !slot.zone.is_empty() && slot.zone != *zone {
        return Verdict::WrongZone { zone: zone.clone() };
    }
    // Capacity that cannot be read is no reason to move anything.
    if state.host().nonsense.is_some() || !is_intruder(view, slot) {
        return Verdict::Ok;
    }
    let free = state.free();
    let without_later = free.less(Resources::ZERO - later_intruders(view, state, key));
    if without_later.overbooked() { Verdict::Overbooked { free } } else { Verdict::Ok }
}

/// An empty slot that is not in force yet and that was not placed by us: the only kind that is revoked at once.
fn is_intruder(view: &View, slot: &Reservation) -> bool {
    let in_force = slot.ready && slot.status_host == slot.target_host;
    let empty = matches!(&slot.kind, ReservationKind::Committed(vms) if vms.is_empty());
    empty && !in_force && !view.placed_by_us(&slot.key)
}

/// Of several intruders those with the last names go first, and only as many as must.
fn later_intruders(view: &View, state: &HostState, key: &SlotKey) -> Resources {
    let later = state.taken().iter().filter(|taken| taken.key > *key);
    let intruders = later.filter(|taken| {
        view.reservation(&taken.key)
            .is_some_and(|slot| slot.target_host.as_ref() == Some(&state.host().name) && is_intruder(view, slot))
    });
    intruders.map(|taken| taken.block.block).sum()
}
