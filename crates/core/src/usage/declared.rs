//! What VMs count in the reports: their memory in declared units.

use crate::flavor::Ratio;
use crate::liquid::units::RamUnit;
use crate::units::declared_gib;

/// The memory of VMs of one group in declared units from the memory of each in MiB.
///
/// In a group with a fixed ratio of memory and cores a unit is a multiple of the smallest flavor, so each VM counts in
/// whole units, and at least one. In other groups only the sum is rounded.
pub fn declared_units(ratio: Ratio, unit: RamUnit, vms_mib: impl IntoIterator<Item = u64>) -> u64 {
    let counted = vms_mib.into_iter().map(|mib| count(ratio, unit, mib));
    rounded(ratio, unit, counted.fold(0, u64::saturating_add))
}

/// The memory of so many VMs with the same memory.
pub fn declared_units_of_equal(ratio: Ratio, unit: RamUnit, vm_mib: u64, vms: u64) -> u64 {
    rounded(ratio, unit, count(ratio, unit, vm_mib).saturating_mul(vms))
}

/// What slots hold beyond the VMs in them, from the memory of each slot and of each VM in it in MiB. VMs that are larger
/// than their slot take nothing from other slots.
pub fn declared_units_beyond_vms<V: IntoIterator<Item = u64>>(
    ratio: Ratio,
    unit: RamUnit,
    slots_mib: impl IntoIterator<Item = (u64, V)>,
) -> u64 {
    let of = |mib| count(ratio, unit, mib);
    let beyond = slots_mib.into_iter().map(|(slot, vms)| {
        let used = vms.into_iter().map(of).fold(0, u64::saturating_add);
        of(slot).saturating_sub(used)
    });
    rounded(ratio, unit, beyond.fold(0, u64::saturating_add))
}

/// What a VM adds to the sum: whole units in a group with a fixed ratio, else GiB.
fn count(ratio: Ratio, unit: RamUnit, mib: u64) -> u64 {
    let gib = declared_gib(mib);
    match ratio {
        _ if mib == 0 => 0,
        Ratio::Fixed(_) => rounded_half_up(gib, unit.in_gib()).max(1),
        Ratio::Variable(..) | Ratio::None => gib,
    }
}

fn rounded(ratio: Ratio, unit: RamUnit, sum: u64) -> u64 {
    match ratio {
        Ratio::Fixed(_) => sum,
        Ratio::Variable(..) | Ratio::None => sum / unit.in_gib(),
    }
}

fn rounded_half_up(amount: u64, unit: u64) -> u64 {
    let rest = amount % unit;
    amount / unit + u64::from(rest >= unit - rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(gib: u64) -> RamUnit {
        RamUnit::new(gib).unwrap()
    }

    #[test]
    fn each_vm_of_a_fixed_ratio_counts_in_whole_units_and_at_least_one() {
        let fixed = Ratio::Fixed(4096);
        assert_eq!(declared_units(fixed, unit(16), [16_384, 32_768, 49_152]), 6, "1, 2 and 3");
        assert_eq!(declared_units(fixed, unit(16), [1024]), 1, "a small VM");
        assert_eq!(declared_units(fixed, unit(16), [24 * 1024]), 2, "half a unit is rounded up");
        assert_eq!(declared_units(fixed, unit(16), [23 * 1024]), 1);
        assert_eq!(declared_units(fixed, unit(16), [0]), 0, "without memory");
    }

    #[test]
    fn the_sum_of_a_variable_ratio_is_divided_at_the_end() {
        let variable = Ratio::Variable(4092, 4094);
        assert_eq!(declared_units(variable, unit(1), [16_368, 32_752, 49_136]), 96, "16, 32 and 48 GiB");
        assert_eq!(declared_units(variable, unit(1), [1000]), 0);
        assert_eq!(declared_units(variable, unit(10), [16_368, 16_368]), 3, "32 GiB");
        assert_eq!(declared_units(Ratio::None, unit(0), [2048]), 2, "a unit of 0 is 1 GiB");
    }

    #[test]
    fn equal_vms_count_like_each_of_them() {
        for ratio in [Ratio::Fixed(4096), Ratio::Variable(4092, 4094), Ratio::None] {
            for mib in [0, 1024, 16_368, 24 * 1024] {
                let each = declared_units(ratio, unit(16), [mib; 7]);
                assert_eq!(declared_units_of_equal(ratio, unit(16), mib, 7), each, "{ratio:?} {mib}");
            }
        }
    }

    #[test]
    fn slots_hold_what_their_vms_do_not_use() {
        let slots = || [(49_152, vec![16_384, 16_384]), (16_384, vec![]), (16_384, vec![32_768]), (1024, vec![1024])];
        assert_eq!(declared_units_beyond_vms(Ratio::Fixed(4096), unit(16), slots()), 2, "one each of two slots");
        assert_eq!(declared_units_beyond_vms(Ratio::Variable(1, 2), unit(1), slots()), 32);
        assert_eq!(declared_units_beyond_vms(Ratio::None, unit(10), slots()), 3, "32 GiB");
    }

    #[test]
    fn the_largest_amounts_do_not_overflow() {
        let many = declared_units_of_equal(Ratio::Fixed(1), unit(1), u64::MAX, u64::MAX);
        assert_eq!(many, u64::MAX);
        assert_eq!(declared_units(Ratio::None, unit(1), [u64::MAX, u64::MAX]), u64::MAX / 1024 * 2);
        assert_eq!(rounded_half_up(u64::MAX, u64::MAX), 1);
    }
}
