//! Memory and cores as types, with every rounding of them.
//!
//! 1 MiB is 1 048 576 bytes everywhere, whatever a field of an OpenStack API calls "MB".

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::quantity;

const BYTES_PER_MIB: i64 = 1 << 20;

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident, $form:path) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i64);

        impl $name {
            pub const ZERO: Self = Self(0);
            pub const MAX: Self = Self(i64::MAX);

            pub const fn new(count: i64) -> Self {
                Self(count)
            }

            pub const fn get(self) -> i64 {
                self.0
            }

            /// The amount, or zero when it is negative.
            pub fn at_least_zero(self) -> Self {
                self.max(Self::ZERO)
            }
        }

        // Amounts come from objects of other writers: they saturate instead of wrapping around.
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            /// The canonical quantity, as it is written into objects.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&$form(self.0))
            }
        }
    };
}

amount!(
    /// An amount of memory in bytes; negative only as a balance (an over-booked host).
    Bytes,
    quantity::binary
);
amount!(
    /// A number of vCPUs; negative only as a balance.
    Cores,
    quantity::decimal
);

impl Bytes {
    pub const MIB: Self = Self(BYTES_PER_MIB);

    pub fn from_mib(mib: u64) -> Self {
        Self(i64::try_from(mib).unwrap_or(i64::MAX).saturating_mul(BYTES_PER_MIB))
    }

    pub fn mib_up(self) -> i64 {
        self.0.div_euclid(BYTES_PER_MIB) + i64::from(self.0.rem_euclid(BYTES_PER_MIB) != 0)
    }

    pub fn mib_down(self) -> i64 {
        self.0.div_euclid(BYTES_PER_MIB)
    }

    /// Rounded up to whole MiB: the unit in which slots are planned.
    pub fn up_to_mib(self) -> Self {
        Self(self.mib_up().saturating_mul(BYTES_PER_MIB))
    }
}

/// Memory and cores together: the size of a slot, of a VM, of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Memory in bytes.
    pub memory: Bytes,
    pub cpu: Cores,
}

impl Resources {
    pub const ZERO: Self = Self { memory: Bytes::ZERO, cpu: Cores::ZERO };

    /// `memory` bytes and `cpu` cores.
    pub const fn new(memory: Bytes, cpu: Cores) -> Self {
        Self { memory, cpu }
    }

    /// The larger of both, each resource on its own.
    pub fn max(self, other: Self) -> Self {
        Self { memory: self.memory.max(other.memory), cpu: self.cpu.max(other.cpu) }
    }

    /// Negative balances as zero, each resource on its own.
    pub fn at_least_zero(self) -> Self {
        self.max(Self::ZERO)
    }

    /// True when each resource is at most that of `free_capacity`.
    pub fn fits(self, free_capacity: Self) -> bool {
        self.memory <= free_capacity.memory && self.cpu <= free_capacity.cpu
    }
}

impl Add for Resources {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { memory: self.memory + other.memory, cpu: self.cpu + other.cpu }
    }
}

impl Sub for Resources {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { memory: self.memory - other.memory, cpu: self.cpu - other.cpu }
    }
}

impl AddAssign for Resources {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Resources {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Resources {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} memory, {} cores", self.memory, self.cpu)
    }
}

/// The cores of a part of a whole, rounded up: `ceil(cpu * part / whole)`. A whole without memory keeps its cores.
pub fn scale_cores(cpu: Cores, part: Bytes, whole: Bytes) -> Cores {
    // The most frequent case.
    if whole <= Bytes::ZERO || part == whole {
        return cpu;
    }
    let product = i128::from(cpu.get()) * i128::from(part.get());
    let whole = i128::from(whole.get());
    let quotient = product.div_euclid(whole) + i128::from(product.rem_euclid(whole) != 0);
    Cores::new(quantity::clamp(quotient))
}

/// The GiB that a flavor is declared with towards Limes: `(ramMiB + 16) / 1024`, so that a flavor that gives a few MiB
/// to the hypervisor still counts in full.
pub fn declared_gib(ram_mib: u64) -> u64 {
    ram_mib.saturating_add(16) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_a_remainder_slot_are_rounded_up() {
        let gib = |n: u64| Bytes::from_mib(n * 1024);
        assert_eq!(scale_cores(Cores::new(4), gib(3), gib(12)), Cores::new(1));
        assert_eq!(scale_cores(Cores::new(4), gib(10), gib(12)), Cores::new(4));
        assert_eq!(scale_cores(Cores::new(15), gib(59), gib(60)), Cores::new(15));
        assert_eq!(scale_cores(Cores::new(8), gib(1), Bytes::ZERO), Cores::new(8));
        assert_eq!(scale_cores(Cores::new(i64::MIN), gib(2), gib(1)), Cores::new(i64::MIN), "beyond 64 bits");
    }

    #[test]
    fn declared_amounts_are_read_in_gib() {
        for (mib, gib) in [(491_520, 480), (32_752, 32), (1008, 1), (1007, 0), (16_384, 16)] {
            assert_eq!(declared_gib(mib), gib);
        }
    }

    #[test]
    fn mib_rounding_has_a_direction() {
        let odd = Bytes::new(BYTES_PER_MIB + 1);
        assert_eq!((odd.mib_up(), odd.mib_down(), odd.up_to_mib()), (2, 1, Bytes::from_mib(2)));
        assert_eq!(Bytes::from_mib(u64::MAX), Bytes::MAX);
    }

    #[test]
    fn amounts_saturate() {
        assert_eq!(Bytes::MAX + Bytes::MIB, Bytes::MAX);
        assert_eq!(Bytes::from_mib(3).to_string(), "3Mi");
        assert_eq!(Cores::new(12_000).to_string(), "12k");
    }
}
