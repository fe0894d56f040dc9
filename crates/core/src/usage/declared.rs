//! What VMs count in the reports: their memory in declared units.

use crate::flavor::{FlavorGroup, Ratio};
use crate::liquid::units::RamUnit;
use crate::units::declared_gib;

/// The memory of VMs of one group in declared units from the memory of each in MiB.
///
/// In a group with a fixed ratio of memory and cores a unit is a multiple of the smallest flavor, so each VM counts in
/// whole units, and at least one. In other groups only the sum is rounded.
pub fn declared_units(group: &FlavorGroup, unit: RamUnit, vms_mib: impl IntoIterator<Item = u64>) -> u64 {
    let with_memory = vms_mib.into_iter().filter(|mib| *mib > 0).map(declared_gib);
    match group.ratio {
        Ratio::Fixed(_) => {
            with_memory.map(|gib| rounded_half_up(gib, unit.in_gib()).max(1)).fold(0, u64::saturating_add)
        }
        Ratio::Variable(..) | Ratio::None => with_memory.fold(0, u64::saturating_add) / unit.in_gib(),
    }
}

fn rounded_half_up(amount: u64, unit: u64) -> u64 {
    let rest = amount % unit;
    amount / unit + u64::from(rest >= unit - rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flavor::RatioMembers;

    fn group(ratio: Ratio) -> FlavorGroup {
        FlavorGroup {
            name: "g".into(),
            flavors: Vec::new(),
            without_memory: Vec::new(),
            ratio,
            ratio_members: RatioMembers::default(),
        }
    }

    fn unit(gib: u64) -> RamUnit {
        RamUnit::new(gib).unwrap()
    }

    #[test]
    fn each_vm_of_a_fixed_ratio_counts_in_whole_units_and_at_least_one() {
        let fixed = group(Ratio::Fixed(4096));
        assert_eq!(declared_units(&fixed, unit(16), [16_384, 32_768, 49_152]), 6, "1, 2 and 3");
        assert_eq!(declared_units(&fixed, unit(16), [1024]), 1, "a small VM");
        assert_eq!(declared_units(&fixed, unit(16), [24 * 1024]), 2, "half a unit is rounded up");
        assert_eq!(declared_units(&fixed, unit(16), [23 * 1024]), 1);
        assert_eq!(declared_units(&fixed, unit(16), [0]), 0, "without memory");
    }

    #[test]
    fn the_sum_of_a_variable_ratio_is_divided_at_the_end() {
        let variable = group(Ratio::Variable(4092, 4094));
        assert_eq!(declared_units(&variable, unit(1), [16_368, 32_752, 49_136]), 96, "16, 32 and 48 GiB");
        assert_eq!(declared_units(&variable, unit(1), [1000]), 0);
        assert_eq!(declared_units(&variable, unit(10), [16_368, 16_368]), 3, "32 GiB");
        assert_eq!(declared_units(&group(Ratio::None), unit(0), [2048]), 2, "a unit of 0 is 1 GiB");
    }

    #[test]
    fn the_largest_amounts_do_not_overflow() {
        assert_eq!(declared_units(&group(Ratio::None), unit(1), [u64::MAX, u64::MAX]), u64::MAX / 1024 * 2);
        assert_eq!(rounded_half_up(u64::MAX, u64::MAX), 1);
    }
}
