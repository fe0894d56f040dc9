//! Arithmetic of amounts and of blocks against whole numbers that cannot overflow.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use berth_core::block::{block_alone, blocks_on, free};
use berth_core::host::{Amounts, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::units::{declared_gib, scale_cores};
use berth_core::{Bytes, ClusterName, Cores, Resources, SlotKey, VmId};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

const MIB: i128 = 1 << 20;

fn clamped(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

fn any_resources() -> impl Strategy<Value = Resources> {
    let amount = || prop_oneof![4 => -100_i64..1_000_000, 1 => any::<i64>()];
    (amount(), amount()).prop_map(|(memory, cpu)| Resources::new(Bytes::new(memory), Cores::new(cpu)))
}

proptest! {
    #[test]
    fn sums_and_differences_are_those_of_whole_numbers_and_end_at_the_bounds(a in any::<i64>(), b in any::<i64>()) {
        let (sum, difference) = (i128::from(a) + i128::from(b), i128::from(a) - i128::from(b));
        prop_assert_eq!((Bytes::new(a) + Bytes::new(b)).get(), clamped(sum));
        prop_assert_eq!((Cores::new(a) - Cores::new(b)).get(), clamped(difference));
    }

    #[test]
    fn rounding_to_mib_never_loses_a_byte_and_adds_less_than_one_mib(bytes in any::<i64>()) {
        let (up, down) = (i128::from(Bytes::new(bytes).mib_up()), i128::from(Bytes::new(bytes).mib_down()));
        let bytes = i128::from(bytes);
        prop_assert!(up * MIB >= bytes && up * MIB - bytes < MIB);
        prop_assert!(down * MIB <= bytes && bytes - down * MIB < MIB);
        prop_assert_eq!(up - down, i128::from(bytes % MIB != 0));
    }

    #[test]
    fn cores_of_a_part_are_the_fraction_rounded_up(cpu in 0_i64..1 << 40, part in 0_i64..1 << 50, whole in 1_i64..1 << 50) {
        let scaled = scale_cores(Cores::new(cpu), Bytes::new(part), Bytes::new(whole)).get();
        let product = i128::from(cpu) * i128::from(part);
        prop_assert!(i128::from(scaled) * i128::from(whole) >= product);
        prop_assert!(scaled == 0 || i128::from(scaled - 1) * i128::from(whole) < product);
    }

    #[test]
    fn the_cores_of_the_parts_are_enough_for_the_whole(cpu in 1_i64..512, parts in vec(1_i64..1000, 1..8)) {
        let whole = Bytes::new(parts.iter().sum());
        let sum: Cores = parts.iter().map(|part| scale_cores(Cores::new(cpu), Bytes::new(*part), whole)).sum();
        prop_assert!(sum >= Cores::new(cpu) && sum.get() < cpu + i64::try_from(parts.len()).unwrap());
    }

    #[test]
    fn a_flavor_is_declared_with_the_gib_that_it_is_called_after(gib in 1_u64..10_000, kept_back in 0_u64..=16) {
        prop_assert_eq!(declared_gib(gib * 1024 - kept_back), gib);
        prop_assert_eq!(declared_gib(gib * 1024 - 17), gib - 1);
    }

    #[test]
    fn what_fits_leaves_nothing_negative(size in any_resources(), free_capacity in any_resources()) {
        let small = |resources: Resources| resources.memory.get().abs() < 1 << 40 && resources.cpu.get().abs() < 1 << 40;
        prop_assume!(small(size) && small(free_capacity));
        let left = free_capacity - size;
        prop_assert_eq!(size.fits(free_capacity), left.memory >= Bytes::ZERO && left.cpu >= Cores::ZERO);
        prop_assert_eq!(Amounts::from(left).overbooked(), !size.fits(free_capacity));
        prop_assert!(size.fits(size.max(free_capacity)) && free_capacity.fits(size.max(free_capacity)));
    }

    #[test]
    fn a_resource_that_is_not_named_stays_so_and_has_no_capacity(taken in any_resources(), cpu in any::<i64>()) {
        let nameless = Amounts { memory: None, cpu: Some(Cores::new(cpu)) };
        prop_assert_eq!(nameless.less(taken).memory, None);
        prop_assert_eq!(nameless.less(taken).cpu, Some(Cores::new(cpu) - taken.cpu));
        prop_assert_eq!(nameless.known(), None);
    }
}

const VMS: [&str; 4] = ["a", "b", "c", "d"];

fn small() -> impl Strategy<Value = Resources> {
    (-2_i64..20, -2_i64..8).prop_map(|(memory, cpu)| Resources::new(Bytes::new(memory), Cores::new(cpu)))
}

fn slots() -> impl Strategy<Value = Vec<Reservation>> {
    let vms = btree_map(prop::sample::select(VMS.to_vec()).prop_map(VmId::from), small(), 0..4);
    let slot = (vms, small()).prop_map(|(vms, size)| (ReservationKind::Committed(vms), size));
    vec(slot, 0..5).prop_map(|all| {
        let slot = |(number, (kind, size)): (usize, (ReservationKind, Resources))| Reservation {
            key: SlotKey::new(ClusterName::home(), format!("slot-{number}")),
            kind,
            project: "project".into(),
            group: "amber".into(),
            zone: "az-a".into(),
            size,
            target_host: Some("h".into()),
            status_host: Some("h".into()),
            ready: true,
        };
        all.into_iter().enumerate().map(slot).collect()
    })
}

fn host(present: BTreeSet<&str>) -> Host {
    let capacity = Resources::new(Bytes::new(100), Cores::new(40));
    let instances: BTreeMap<VmId, bool> = present.into_iter().map(|vm| (vm.into(), true)).collect();
    Host { name: "h".into(), capacity: capacity.into(), instances, ..Host::default() }
}

proptest! {
    #[test]
    fn blocks_are_those_of_the_formula_written_out(slots in slots(), present in btree_set(prop::sample::select(VMS.to_vec()), 0..4)) {
        let host = host(present.clone());
        let mut seen = BTreeSet::new();
        let mut expected = Vec::new();
        for slot in &slots {
            let ReservationKind::Committed(vms) = &slot.kind else { unreachable!() };
            let (mut here, mut coming) = (Resources::ZERO, Resources::ZERO);
            for (vm, size) in vms {
                if !present.contains(vm.as_str()) {
                    coming += size.at_least_zero();
                } else if seen.insert(vm.clone()) {
                    here += size.at_least_zero();
                }
            }
            let rest = slot.size.at_least_zero() - here;
            expected.push(rest.at_least_zero().max(coming));
        }
        let found: Vec<Resources> = blocks_on(&host, &slots).iter().map(|(_, block)| block.block).collect();
        prop_assert_eq!(&found, &expected);
        let blocks = blocks_on(&host, &slots);
        let left = free(&host, blocks.iter().map(|(_, block)| block)).known().unwrap();
        prop_assert_eq!(left, host.capacity.or_zero() - expected.into_iter().sum());
    }

    #[test]
    fn a_block_is_reported_alone_only_where_no_vm_of_it_is_present(slots in slots(), present in btree_set(prop::sample::select(VMS.to_vec()), 0..4)) {
        let host = host(present.clone());
        for slot in &slots {
            let ReservationKind::Committed(vms) = &slot.kind else { unreachable!() };
            let is_alone = !vms.keys().any(|vm| present.contains(vm.as_str()));
            let alone = block_alone(slot, &host);
            prop_assert_eq!(alone.is_some(), is_alone);
            if let Some(alone) = alone {
                prop_assert_eq!(alone, blocks_on(&host, [slot])[0].1);
            }
        }
    }
}
