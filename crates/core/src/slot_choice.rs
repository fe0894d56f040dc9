//! Which slot of its project a VM belongs to on the host where it runs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::ids::{SlotKey, VmId};
use crate::units::{Bytes, Resources};

/// The slot that covers most of the memory, then the tightest, then the first by name; of each slot `slots` has the memory
/// that no VM is expected in. CPU plays no role.
pub fn pick<'s>(slots: impl IntoIterator<Item = (&'s SlotKey, Bytes)>, memory: Bytes) -> Option<&'s SlotKey> {
    let left = slots.into_iter().filter(|(_, left)| *left > Bytes::ZERO);
    left.min_by_key(|(key, left)| (Reverse((*left).min(memory)), *left, &key.name, &key.cluster)).map(|(key, _)| key)
}

/// The slots that VMs of one host belong to which no slot expects yet, the largest VM first. A slot that is full gets no
/// more of them; the last VM of a slot may be larger than what is left there.
pub fn assign(vms: &BTreeMap<VmId, Resources>, mut slots: BTreeMap<SlotKey, Bytes>) -> BTreeMap<VmId, SlotKey> {
    let mut largest_first: Vec<_> = vms.iter().collect();
    largest_first.sort_by_key(|(vm, size)| (Reverse(size.memory), *vm));
    let mut assigned = BTreeMap::new();
    for (vm, size) in largest_first.into_iter().filter(|(_, size)| size.memory > Bytes::ZERO) {
        let Some(slot) = pick(slots.iter().map(|(key, left)| (key, *left)), size.memory).cloned() else { break };
        if let Some(left) = slots.get_mut(&slot) {
            *left -= size.memory;
        }
        assigned.insert(vm.clone(), slot);
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ClusterName;
    use crate::units::Cores;

    fn key(name: &str) -> SlotKey {
        SlotKey::new(ClusterName::home(), name)
    }

    fn gib(gib: i64) -> Bytes {
        Bytes::new(gib << 30)
    }

    fn picked(slots: &[(&str, i64)], memory: i64) -> Option<String> {
        let slots: Vec<_> = slots.iter().map(|(name, left)| (key(name), gib(*left))).collect();
        let slots = slots.iter().map(|(key, left)| (key, *left));
        pick(slots, gib(memory)).map(|key| key.name.to_string())
    }

    #[test]
    fn the_slot_with_the_least_left_is_picked() {
        for (slots, vm, expected) in [
            (vec![("x", 24), ("y", 16), ("z", 12)], 16, Some("y")),
            (vec![("x", 12), ("y", 10)], 16, Some("x")),
            (vec![("slot-b", 24), ("slot-a", 24)], 16, Some("slot-a")),
            (vec![("a", 30), ("b", 60), ("c", 20)], 25, Some("a")),
            (vec![("a", 30), ("b", 60), ("c", 20)], 40, Some("b")),
            (vec![("full", 0)], 16, None),
        ] {
            assert_eq!(picked(&slots, vm).as_deref(), expected, "{slots:?} {vm}");
        }
    }

    fn assigned(vms: &[(&str, i64)], slots: &[(&str, i64)]) -> Vec<String> {
        let vms = vms.iter().map(|(vm, size)| ((*vm).into(), Resources::new(gib(*size), Cores::new(1)))).collect();
        let slots = slots.iter().map(|(slot, left)| (key(slot), gib(*left))).collect();
        assign(&vms, slots).iter().map(|(vm, slot)| format!("{vm} in {}", slot.name)).collect()
    }

    #[test]
    fn each_vm_goes_where_it_fits_best_after_the_larger_ones() {
        assert_eq!(assigned(&[("v1", 30), ("v2", 30)], &[("a", 60), ("b", 30)]), ["v1 in b", "v2 in a"]);
        assert_eq!(assigned(&[("v1", 12), ("v2", 60)], &[("a", 60), ("b", 20)]), ["v1 in b", "v2 in a"]);
    }

    #[test]
    fn a_full_slot_gets_nothing_and_the_last_vm_may_overfill_one() {
        let slots = [("a", 20), ("full", 0)];
        assert_eq!(assigned(&[("v1", 30), ("v2", 30), ("v3", 1)], &slots), ["v1 in a"]);
        assert_eq!(assigned(&[("v1", 0)], &slots), [""; 0], "a VM without memory");
    }
}
