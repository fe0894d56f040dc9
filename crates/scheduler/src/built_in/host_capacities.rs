//! Reads the hosts as capacity is counted on them.

use berth_capacity_view::{HostState, View};
use berth_core::HostName;
use berth_core::capacity::held_slots;
use parking_lot::MutexGuard;

use super::BuiltIn;
use super::host_report::observed;
use crate::HostCapacity;

/// Hosts per critical section, so that none takes longer than a decision on a slot.
const CHUNK: usize = 8;

impl BuiltIn {
    pub(super) fn all_host_capacities(&self) -> Vec<HostCapacity> {
        let names = self.host_names();
        let read = |chunk: &[HostName]| {
            let inner = self.lock();
            let view = &inner.fleet.view;
            let states = chunk.iter().filter_map(|name| view.state(view.id(name)?));
            let found = states.map(|state| host_capacity(view, state)).collect::<Vec<_>>();
            // Without fairness this thread would take the lock again before one that waits.
            MutexGuard::unlock_fair(inner);
            found
        };
        names.chunks(CHUNK).flat_map(read).collect()
    }
}

fn host_capacity(view: &View, state: &HostState) -> HostCapacity {
    let reservations = state.taken().iter().filter_map(|taken| view.reservation(&taken.key));
    let slots = held_slots(state.host(), reservations);
    HostCapacity { host: state.shared_host().clone(), free: observed(state), slots }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{gib, host, key, slot};
    use crate::{Scheduler as _, Settings};

    #[test]
    fn what_is_promised_counts_as_free_and_a_slot_that_moves_is_held_once() {
        let scheduler = BuiltIn::new(Settings::default(), Box::new(|_| {}));
        let mut node = host("b", gib(16, 64));
        node.instances = [("vm".into(), true)].into();
        node.allocation = gib(2, 8).into();
        for host in [node, host("a", gib(16, 64))] {
            scheduler.host_changed(&host.name.clone(), Some(host));
        }
        let used = slot("used", "b", gib(4, 16), &[("vm", gib(2, 8))]);
        let moving = berth_core::reservation::Reservation {
            target_host: Some("a".into()),
            ..slot("moving", "b", gib(1, 4), &[])
        };
        for slot in [used, moving] {
            scheduler.reservation_changed(&slot.key.clone(), Some(slot));
        }
        scheduler.hold_for_change("open", &[("a".into(), gib(8, 8))]);
        assert!(scheduler.free_capacity(&"a".into()).is_some_and(|free| free != gib(15, 60)), "{:?}", key("held"));

        let [a, b] = scheduler.host_capacities().try_into().unwrap();
        assert_eq!((a.host.name.as_str(), a.free), ("a", gib(15, 60).into()));
        assert_eq!((b.host.name.as_str(), b.free), ("b", gib(11, 44).into()), "both hosts are blocked by the slot");
        let held = |of: &HostCapacity| of.slots.iter().map(|slot| (slot.size, slot.vms.clone())).collect::<Vec<_>>();
        assert_eq!(held(&a), [(gib(1, 4), vec![])]);
        assert_eq!(held(&b), [(gib(4, 16), vec![gib(2, 8)])]);
    }
}
