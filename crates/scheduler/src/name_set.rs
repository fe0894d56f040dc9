//! Names of hosts to be looked up often, for one request: thousands of names are compared with thousands of others. They
//! are sorted by a hash, whose order nobody sees, so that names are read only where they are almost certainly equal.

use berth_core::HostName;

use crate::order::hash;

const PLACE_BITS: u32 = 32;

/// A set of names.
pub(crate) struct NameSet<'n> {
    names: Vec<&'n HostName>,
    /// The upper half of the hash, then the place of the name. Equal halves only cost time.
    keys: Vec<u64>,
}

impl<'n> FromIterator<&'n HostName> for NameSet<'n> {
    fn from_iter<T: IntoIterator<Item = &'n HostName>>(names: T) -> Self {
        let names: Vec<&HostName> = names.into_iter().collect();
        let mut keys: Vec<u64> = names.iter().zip(0_u64..).map(|(name, place)| first(name) | place).collect();
        keys.sort_unstable();
        Self { names, keys }
    }
}

impl NameSet<'_> {
    /// Whether the name is in the set.
    pub(crate) fn has(&self, name: &HostName) -> bool {
        let first = first(name);
        let from = self.keys.partition_point(|key| *key < first);
        let alike = self.keys[from..].iter().take_while(|key| *key >> PLACE_BITS == first >> PLACE_BITS);
        alike.filter_map(|key| self.names.get(place(*key))).any(|found| *found == name)
    }
}

/// The least key that a name can have.
fn first(name: &HostName) -> u64 {
    hash(name.as_str()) >> PLACE_BITS << PLACE_BITS
}

fn place(key: u64) -> usize {
    usize::try_from(key & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_has_what_a_set_has(
            names in prop::collection::vec("[ab]{0,3}", 0..20),
            asked in prop::collection::vec("[ab]{0,3}", 0..20),
        ) {
            let names: Vec<HostName> = names.into_iter().map(HostName::from).collect();
            let (set, expected) = (names.iter().collect::<NameSet<'_>>(), names.iter().collect::<BTreeSet<_>>());
            for name in asked.into_iter().map(HostName::from) {
                prop_assert_eq!(set.has(&name), expected.contains(&name));
            }
        }
    }

    #[test]
    fn names_with_the_same_key_are_told_apart() {
        let names = ["a", "b", "c"].map(HostName::from);
        let set = NameSet { names: names.iter().take(2).collect(), keys: vec![first(&names[2]), first(&names[2]) | 1] };
        assert!(!set.has(&names[2]));
        let set =
            NameSet { names: names.iter().collect(), keys: (0..3).map(|place| first(&names[2]) | place).collect() };
        assert!(set.has(&names[2]));
    }
}
