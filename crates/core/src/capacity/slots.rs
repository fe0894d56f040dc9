//! Slots: how many VMs of a flavor there is capacity for.

use crate::units::{Bytes, Cores, Resources};

/// How many VMs of this size fit. Sizes without memory have none: no slot can have them.
pub fn slots(free: Resources, size: Resources) -> u64 {
    if size.memory <= Bytes::ZERO {
        return 0;
    }
    let by_memory = free.memory.get() / size.memory.get();
    let by_cores = if size.cpu > Cores::ZERO { free.cpu.get() / size.cpu.get() } else { i64::MAX };
    u64::try_from(by_memory.min(by_cores)).unwrap_or(0)
}

/// The size of so many slots.
pub fn times(size: Resources, slots: u64) -> Resources {
    let slots = i64::try_from(slots).unwrap_or(i64::MAX);
    let product = |one: i64| one.saturating_mul(slots);
    Resources::new(Bytes::new(product(size.memory.get())), Cores::new(product(size.cpu.get())))
}

/// The capacity of a group from the slots of each of its flavors. The largest memory and the largest number of cores may be
/// those of different flavors.
pub fn total_capacity(flavors: impl IntoIterator<Item = (Resources, u64)>) -> Resources {
    flavors.into_iter().map(|(size, slots)| times(size, slots)).fold(Resources::ZERO, Resources::max)
}

/// What is free for a group on its candidate hosts before other groups get a share: whole slots, not remainders.
pub fn free_capacity(need: Resources, hosts: impl IntoIterator<Item = Resources>) -> Resources {
    times(need, hosts.into_iter().map(|free| slots(free, need)).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gib;

    fn size(memory: u64, cpu: i64) -> Resources {
        Resources::new(gib(memory), Cores::new(cpu))
    }

    #[test]
    fn the_scarcer_resource_limits_the_slots() {
        assert_eq!(slots(size(64, 16), size(16, 4)), 4);
        assert_eq!(slots(size(64, 15), size(16, 4)), 3);
        assert_eq!(slots(size(63, 16), size(16, 4)), 3, "the rest is no slot");
        assert_eq!(slots(size(64, 0), size(16, 0)), 4, "no cores are needed");
        assert_eq!(slots(size(64, 0), size(16, 1)), 0);
    }

    #[test]
    fn impossible_amounts_have_no_slots() {
        assert_eq!(slots(size(64, 16), size(0, 4)), 0, "a flavor without memory");
        let overbooked = Resources::new(Bytes::new(-1 << 40), Cores::new(16));
        assert_eq!(slots(overbooked, size(1, 1)), 0);
        assert_eq!(times(size(1, 1), u64::MAX), Resources::new(Bytes::MAX, Cores::MAX));
    }

    #[test]
    fn the_total_has_the_maximum_of_each_resource() {
        let flavors = [(size(16, 2), 10), (size(32, 8), 4), (size(512, 64), 0)];
        assert_eq!(total_capacity(flavors), size(160, 32), "memory of the first, cores of the second flavor");
        assert_eq!(total_capacity([]), Resources::ZERO);
    }

    #[test]
    fn free_capacity_is_a_sum_of_whole_slots() {
        assert_eq!(free_capacity(size(8, 2), [size(64, 16), size(41, 10), size(24, 3)]), size(112, 28));
    }
}
