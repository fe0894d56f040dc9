//! Amounts on the wire are multiples of the unit that the service info declares for a resource.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::commitment::ResourceType;
use crate::flavor::FlavorGroup;
use crate::ids::GroupName;
use crate::quantity::Quantity;
use crate::units::{Bytes, declared_gib};

const BYTES_PER_GIB: u64 = 1 << 30;

/// The declared unit of RAM, at least one GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamUnit {
    gib: u64,
}

/// The unit in which Limes counts the RAM of a group.
pub type UnitOf = Arc<dyn Fn(&GroupName) -> RamUnit + Send + Sync>;

/// The unit has more bytes than 64 bits can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a unit of {0} GiB has more bytes than 64 bits can count, ramUnitGiB must be less")]
pub struct UnitError(u64);

impl Default for RamUnit {
    fn default() -> Self {
        Self { gib: 1 }
    }
}

impl RamUnit {
    /// Reads `ramUnitGiB`, where 0 counts as 1.
    pub fn new(ram_unit_gib: u64) -> Result<Self, UnitError> {
        let gib = ram_unit_gib.max(1);
        gib.checked_mul(BYTES_PER_GIB).map(|_| Self { gib }).ok_or(UnitError(gib))
    }

    /// Reads the canonical text of a published unit; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (factor, suffix) = text.split_once(' ').unwrap_or(("1", text));
        let gib_per_suffix = match suffix {
            "GiB" => 1,
            "TiB" => 1 << 10,
            "PiB" => 1 << 20,
            "EiB" => 1 << 30,
            _ => return None,
        };
        let unit = Self::new(factor.parse::<u64>().ok()?.checked_mul(gib_per_suffix)?).ok()?;
        (unit.to_string() == text).then_some(unit)
    }

    /// The size of one unit in GiB.
    pub fn in_gib(self) -> u64 {
        self.gib
    }

    /// The memory of so many units; `None` beyond the 64 bits of a quantity.
    pub fn bytes(self, units: u64) -> Option<Bytes> {
        let bytes = u128::from(units).checked_mul(u128::from(self.gib) * u128::from(BYTES_PER_GIB))?;
        i64::try_from(bytes).ok().map(Bytes::new)
    }

    /// The quota of so many units in GiB, as it is stored; `None` beyond 64 bits.
    pub fn gib(self, units: u64) -> Option<i64> {
        i64::try_from(units.checked_mul(self.gib)?).ok()
    }

    /// A stored quota in whole units. A negative one means "infinite" and stays as it is.
    pub fn units(self, gib: i64) -> i64 {
        // The unit is less than 2^34 GiB.
        if gib < 0 { gib } else { gib / i64::try_from(self.gib).unwrap_or(i64::MAX) }
    }

    /// Whether the memory is a whole number of units.
    pub fn is_whole(self, memory: Bytes) -> bool {
        i128::from(memory.get()) % (i128::from(self.gib) * i128::from(BYTES_PER_GIB)) == 0
    }

    /// Whether each VM of the group can be a whole number of units. A group without flavors with memory has no VMs.
    pub fn divides_smallest_flavor(self, group: &FlavorGroup) -> bool {
        group.smallest().is_none_or(|flavor| declared_gib(flavor.memory_mib).is_multiple_of(self.gib))
    }
}

/// Whether so many old units are a whole number of new ones. Limes refuses a service info in which they are not.
pub fn is_amount_whole(units: u64, old: RamUnit, new: RamUnit) -> bool {
    (u128::from(units) * u128::from(old.gib)).is_multiple_of(u128::from(new.gib))
}

/// The amount of a commitment of so many units; `None` beyond the 64 bits of a quantity.
pub fn committed_amount(resource: ResourceType, units: u64, unit: RamUnit) -> Option<Quantity> {
    let amount = match resource {
        ResourceType::Memory => unit.bytes(units)?.get(),
        ResourceType::Cores => i64::try_from(units).ok()?,
    };
    Some(Quantity::from_units(amount))
}

impl fmt::Display for RamUnit {
    /// The canonical text: the largest unit that divides it, without the factor 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut factor, mut suffix) = (self.gib, "GiB");
        for larger in ["TiB", "PiB", "EiB"] {
            if !factor.is_multiple_of(1024) {
                break;
            }
            (factor, suffix) = (factor / 1024, larger);
        }
        if factor == 1 { f.write_str(suffix) } else { write!(f, "{factor} {suffix}") }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::quantity::binary;
    use crate::testing::amber;

    fn unit(gib: u64) -> RamUnit {
        RamUnit::new(gib).unwrap()
    }

    #[test]
    fn the_canonical_text_has_the_largest_unit_without_the_factor_one() {
        for (gib, text) in [
            (0, "GiB"),
            (1, "GiB"),
            (16, "16 GiB"),
            (480, "480 GiB"),
            (1024, "TiB"),
            (1536, "1536 GiB"),
            (2048, "2 TiB"),
            (1 << 20, "PiB"),
            (3 << 30, "3 EiB"),
        ] {
            assert_eq!(unit(gib).to_string(), text);
        }
    }

    #[test]
    fn only_the_canonical_text_is_read() {
        for text in ["", "1 GiB", "1024 GiB", "0 GiB", "480", "480GiB", "480 MiB", "piece", "-1 GiB", "99999999999 EiB"]
        {
            assert_eq!(RamUnit::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_unit_beyond_64_bits_is_an_error_that_names_it() {
        assert_eq!(unit((1 << 34) - 1).in_gib(), (1 << 34) - 1);
        for gib in [1 << 34, u64::MAX] {
            let text = RamUnit::new(gib).unwrap_err().to_string();
            assert!(text.contains(&format!("{gib} GiB")), "{text}");
        }
    }

    #[test]
    fn amounts_are_stored_in_bytes() {
        let bytes = unit(480).bytes(9).unwrap();
        assert_eq!((bytes.get(), binary(bytes.get())), (4_638_564_679_680, "4320Gi".to_owned()));
        let amount = |resource, units| committed_amount(resource, units, unit(480));
        assert_eq!(amount(ResourceType::Memory, 9), Quantity::parse("4320Gi").ok());
        assert_eq!(amount(ResourceType::Cores, 1000), Quantity::parse("1k").ok());
    }

    #[test]
    fn amounts_beyond_64_bits_are_refused() {
        assert_eq!(unit(480).bytes(17_895_698), None);
        assert!(unit(480).bytes(17_895_697).is_some());
        assert_eq!(committed_amount(ResourceType::Memory, u64::MAX, unit(1)), None);
        assert_eq!(committed_amount(ResourceType::Cores, 1 << 63, unit(1)), None);
        assert_eq!(unit(480).gib(u64::MAX / 2), None);
        assert_eq!(unit((1 << 34) - 1).bytes(1), None, "one unit alone is too large for a quantity");
    }

    #[test]
    fn quota_is_stored_in_gib_and_reported_in_units() {
        assert_eq!((unit(16).gib(5), unit(16).units(80)), (Some(80), 5));
        assert_eq!(unit(480).units(2900), 6, "the rest is truncated");
    }

    #[test]
    fn infinite_quota_stays_infinite_in_every_unit() {
        assert_eq!((unit(1).units(-1), unit(480).units(-1)), (-1, -1));
    }

    #[test]
    fn a_new_unit_must_leave_amounts_whole() {
        assert!(is_amount_whole(2, unit(480), unit(960)) && is_amount_whole(3, unit(480), unit(240)));
        assert!(!is_amount_whole(3, unit(480), unit(960)));
        assert!(is_amount_whole(u64::MAX, unit(1 << 33), unit(1 << 33)));
        assert!(unit(480).is_whole(Bytes::from_mib(960 * 1024)) && !unit(480).is_whole(Bytes::new(1)));
    }

    #[test]
    fn the_smallest_flavor_is_a_multiple_of_its_declared_gib() {
        let mut group = amber();
        for (gib, is_divided) in [(1, true), (12, true), (4, true), (5, false), (24, false)] {
            assert_eq!(unit(gib).divides_smallest_flavor(&group), is_divided, "{gib}");
        }
        group.flavors[2].memory_mib -= 16;
        assert!(unit(12).divides_smallest_flavor(&group), "memory for video does not count");
        group.flavors.clear();
        assert!(unit(5).divides_smallest_flavor(&group));
    }

    proptest! {
        #[test]
        fn a_quota_is_reported_as_it_was_set(gib in 0..1_u64 << 34, units in any::<u64>()) {
            let unit = unit(gib);
            if let Some(stored) = unit.gib(units) {
                prop_assert_eq!(u64::try_from(unit.units(stored)), Ok(units));
            }
        }

        #[test]
        fn an_amount_is_a_whole_number_of_its_unit(gib in 0..1_u64 << 34, units in 0..1_u64 << 40) {
            let unit = unit(gib);
            prop_assert!(is_amount_whole(units, unit, unit));
            prop_assert_eq!(RamUnit::parse(&unit.to_string()), Some(unit));
            prop_assert!(unit.bytes(units).is_none_or(|bytes| unit.is_whole(bytes)));
        }
    }
}
