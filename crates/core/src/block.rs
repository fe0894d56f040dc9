//! The block formula: how much a reservation blocks on a host.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::{Amounts, Host};
use crate::ids::VmId;
use crate::reservation::{Reservation, ReservationKind};
use crate::units::Resources;

/// The blocks of all reservations on one host.
///
/// `reservations` are those that name the host, in ascending order of their key: a VM that several slots of the host
/// expect counts in the first one only.
pub fn blocks_on<'a>(
    host: &Host,
    reservations: impl IntoIterator<Item = &'a Reservation>,
) -> Vec<(&'a Reservation, Block)> {
    let mut counted = BTreeSet::new();
    reservations.into_iter().map(|reservation| (reservation, block(reservation, host, &mut counted))).collect()
}

/// The block of one reservation on a host if it does not depend on other reservations. `None` if it expects a VM that
/// the host lists, because such a VM counts in the first slot only.
pub fn block_alone(reservation: &Reservation, host: &Host) -> Option<Block> {
    let mut counted = BTreeSet::new();
    let block = block(reservation, host, &mut counted);
    counted.is_empty().then_some(block)
}

/// The slots of commitments on a host, each with the sizes of the confirmed VMs in it; `reservations` as for [`blocks_on`].
pub fn confirmed_vms<'a>(
    host: &Host,
    reservations: impl IntoIterator<Item = &'a Reservation>,
) -> Vec<(&'a Reservation, Vec<Resources>)> {
    let mut counted = BTreeSet::new();
    let mut slots = Vec::new();
    for reservation in reservations {
        let ReservationKind::Committed(expected) = &reservation.kind else { continue };
        let mut vms = Vec::new();
        visit_expected(expected, host, &mut counted, |vm, is_there| vms.extend(is_there.then_some(vm)));
        slots.push((reservation, vms));
    }
    slots
}

/// The block of one reservation on one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The block while VMs count: what must stay free besides the VMs that are there.
    pub block: Resources,
    /// The part for VMs that are expected and not there yet; it stays blocked when the slot is unlocked for its owner.
    pub pending: Resources,
}

/// Free capacity of a host: capacity minus VMs minus blocks. Negative means over-booked.
pub fn free<'a>(host: &Host, blocks: impl IntoIterator<Item = &'a Block>) -> Amounts {
    host.unreserved().less(blocks.into_iter().map(|block| block.block).sum())
}

/// An expected VM is confirmed exactly if this host lists it; confirmed VMs are in the host's allocation already and
/// must not be counted twice. VMs that will still arrive are covered by the slot, or counted in full if they are larger
/// than the rest of it.
fn block(reservation: &Reservation, host: &Host, counted: &mut BTreeSet<VmId>) -> Block {
    let size = reservation.size.at_least_zero();
    let ReservationKind::Committed(expected) = &reservation.kind else {
        return Block { block: size, pending: Resources::ZERO };
    };
    let (mut confirmed, mut pending) = (Resources::ZERO, Resources::ZERO);
    visit_expected(expected, host, counted, |vm, is_there| {
        *(if is_there { &mut confirmed } else { &mut pending }) += vm;
    });
    Block { block: (size - confirmed).at_least_zero().max(pending), pending }
}

/// Calls `visit` with the size of each expected VM, and whether it is confirmed. A VM that was counted before is left out.
fn visit_expected(
    expected: &BTreeMap<VmId, Resources>,
    host: &Host,
    counted: &mut BTreeSet<VmId>,
    mut visit: impl FnMut(Resources, bool),
) {
    for (vm, size) in expected {
        let is_there = host.instances.contains_key(vm);
        if !is_there || counted.insert(vm.clone()) {
            visit(size.at_least_zero(), is_there);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{ClusterName, HostName, SlotKey};
    use crate::units::{Bytes, Cores};

    fn size(gib: u64, cpu: i64) -> Resources {
        Resources::new(Bytes::from_mib(gib * 1024), Cores::new(cpu))
    }

    fn slot(name: &str, size: Resources, vms: &[(&str, Resources)]) -> Reservation {
        Reservation {
            key: SlotKey::new(ClusterName::home(), name),
            kind: ReservationKind::Committed(vms.iter().map(|(vm, size)| ((*vm).into(), *size)).collect()),
            project: "p".into(),
            group: "g".into(),
            zone: "az".into(),
            size,
            target_host: Some("h".into()),
            status_host: Some("h".into()),
            ready: true,
        }
    }

    fn host(instances: &[&str]) -> Host {
        Host {
            name: "h".into(),
            capacity: size(640, 160).into(),
            allocation: size(256, 64).into(),
            instances: instances.iter().map(|vm| ((*vm).into(), true)).collect(),
            ..Host::default()
        }
    }

    fn blocked(reservation: &Reservation, host: &Host) -> Resources {
        blocks_on(host, [reservation])[0].1.block
    }

    const A: (&str, (u64, i64)) = ("a", (120, 30));
    const B: (&str, (u64, i64)) = ("b", (96, 24));

    fn vm((name, (gib, cpu)): (&'static str, (u64, i64))) -> (&'static str, Resources) {
        (name, size(gib, cpu))
    }

    #[test]
    fn the_rest_of_a_slot_of_64_gib_and_16_cores_is_blocked() {
        let whole = size(64, 16);
        let (running, small) = (("r", size(24, 6)), ("s", size(8, 2)));
        let table = [
            (vec![], whole),
            (vec![running], size(40, 10)),
            (vec![running, small], size(40, 10)),
            (vec![running, ("l", size(48, 12))], size(48, 12)),
            (vec![("resized", size(80, 20))], size(0, 0)),
        ];
        for (vms, expected) in table {
            assert_eq!(blocked(&slot("s", whole, &vms), &host(&["r", "resized"])), expected, "{vms:?}");
        }
    }

    #[test]
    fn a_slot_that_moves_is_blocked_in_full_on_the_host_that_its_vm_is_not_on() {
        let moving = Reservation { status_host: Some("g".into()), ..slot("s", size(64, 16), &[("r", size(24, 6))]) };
        assert_eq!(moving.hosts().map(HostName::as_str).collect::<Vec<_>>(), ["h", "g"]);
        assert_eq!(blocked(&moving, &host(&["r"])), size(40, 10), "the VM is there");
        assert_eq!(blocked(&moving, &host(&[])), size(64, 16));
    }

    #[test]
    fn a_vm_that_two_slots_expect_is_confirmed_in_the_first() {
        let (a, b) = (slot("a", size(64, 16), &[vm(A)]), slot("b", size(64, 16), &[vm(A), vm(B)]));
        let failover = Reservation { kind: ReservationKind::Failover(["a".into()].into()), ..a.clone() };
        let host = host(&["a"]);
        let confirmed = confirmed_vms(&host, [&a, &b, &failover]);
        let found: Vec<_> = confirmed.iter().map(|(slot, vms)| (slot.key.name.as_str(), vms.len())).collect();
        assert_eq!(found, [("a", 1), ("b", 0)]);
    }

    #[test]
    fn block_of_one_reservation() {
        let whole = size(200, 50);
        let table = [
            (vec![], vec![], whole),
            (vec![vm(A)], vec!["a"], size(80, 20)),
            (vec![vm(A), vm(B)], vec!["a"], size(96, 24)),
            (vec![vm(B)], vec![], whole),
            (vec![("c", size(240, 48))], vec!["c"], size(0, 2)),
            (vec![("d", size(256, 40))], vec![], size(256, 50)),
        ];
        for (vms, instances, expected) in table {
            assert_eq!(blocked(&slot("s", whole, &vms), &host(&instances)), expected, "{vms:?} {instances:?}");
        }
        let failover = ReservationKind::Failover(["a".into()].into());
        let failover = Reservation { kind: failover, ..slot("s", whole, &[]) };
        assert_eq!(blocked(&failover, &host(&["a"])), whole, "any VMs");
    }

    #[test]
    fn a_migrating_slot_counts_the_vm_where_it_is() {
        let moving = slot("s", size(200, 50), &[vm(A)]);
        assert_eq!(blocked(&moving, &host(&["a"])), size(80, 20));
        assert_eq!(blocked(&moving, &host(&[])), size(200, 50));
    }

    #[test]
    fn hosts_of_a_block() {
        let mut reservation = slot("s", size(1, 1), &[]);
        reservation.status_host = Some("other".into());
        assert_eq!(reservation.hosts().map(HostName::as_str).collect::<Vec<_>>(), ["h", "other"]);
        reservation.target_host = None;
        assert_eq!(reservation.hosts().count(), 0);
    }

    #[test]
    fn free_capacity_is_what_blocks_and_vms_leave() {
        let failover = Reservation { kind: ReservationKind::Failover(BTreeSet::new()), ..slot("f", size(64, 16), &[]) };
        let moving = Reservation { status_host: Some("h2".into()), ..slot("m", size(200, 50), &[]) };
        let confirmed = slot("s", size(200, 50), &[vm(A)]);
        let host = host(&["a"]);
        let blocks = blocks_on(&host, [&failover, &moving, &confirmed]);
        assert_eq!(free(&host, blocks.iter().map(|(_, block)| block)), size(40, 10).into());
    }

    #[test]
    fn pending_vm_is_taken_per_resource() {
        let slot = slot("s", size(64, 8), &[("a", size(32, 4)), ("b", size(48, 2))]);
        let on_host = blocks_on(&host(&["a"]), [&slot])[0].1;
        assert_eq!((on_host.block, on_host.pending), (size(48, 4), size(48, 2)));
    }

    #[test]
    fn a_moving_slot_blocks_both_hosts() {
        let moving = slot("s", size(64, 8), &[("a", size(64, 8))]);
        let old = Host { capacity: size(256, 32).into(), allocation: size(64, 8).into(), ..host(&["a"]) };
        let new = Host { capacity: size(256, 32).into(), allocation: Amounts::default(), ..host(&[]) };
        for host in [old, new] {
            assert_eq!(free(&host, [&blocks_on(&host, [&moving])[0].1]), size(192, 24).into());
        }
    }

    #[test]
    fn a_vm_counts_in_the_first_slot_of_the_host_only() {
        let (first, second) = (slot("s-0", size(200, 50), &[vm(A)]), slot("s-1", size(200, 50), &[vm(A)]));
        let host = host(&["a"]);
        let blocks = blocks_on(&host, [&first, &second]);
        assert_eq!((blocks[0].1.block, blocks[1].1.block), (size(80, 20), size(200, 50)));
    }

    #[test]
    fn only_a_vm_that_is_there_makes_a_block_depend_on_others() {
        let expecting = slot("s", size(200, 50), &[vm(A)]);
        let absent = host(&["b"]);
        assert_eq!(block_alone(&expecting, &absent), Some(blocks_on(&absent, [&expecting])[0].1));
        assert_eq!(block_alone(&expecting, &host(&["a"])), None);
    }

    fn any_size() -> impl Strategy<Value = Resources> {
        (-2_i64..300, -2_i64..60).prop_map(|(gib, cpu)| Resources::new(Bytes::new(gib << 30), Cores::new(cpu)))
    }

    proptest! {
        #[test]
        fn blocks_are_never_negative_and_monotone(
            whole in any_size(),
            more in any_size(),
            vms in prop::collection::btree_map("[a-d]", any_size(), 0..4),
            present in prop::collection::btree_set("[a-d]", 0..4),
        ) {
            let expected: BTreeMap<VmId, Resources> =
                vms.iter().map(|(vm, size)| (vm.as_str().into(), *size)).collect();
            let instances: Vec<&str> = present.iter().map(String::as_str).collect();
            let host = host(&instances);
            let slot = Reservation { kind: ReservationKind::Committed(expected), ..slot("s", whole, &[]) };
            let block = blocked(&slot, &host);
            prop_assert!(Resources::ZERO.fits(block));
            let larger = Reservation { size: whole + more.at_least_zero(), ..slot.clone() };
            prop_assert!(block.fits(blocked(&larger, &host)));
            let absent = super::tests::host(&[]);
            prop_assert!(block.fits(blocked(&slot, &absent)), "a VM that leaves never lowers the block");
        }
    }
}
