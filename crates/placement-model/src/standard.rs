//! The standard resource classes and traits, which exist from the start and cannot be created, renamed or deleted.

use std::sync::LazyLock;

/// The resource classes of os-resource-classes 1.1.0; their order is the order of lists. `hack/placement-names.sh` writes the file.
pub static CLASSES: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("standard/classes.txt").lines().collect());

/// The traits of os-traits 3.9.0, ascending. `hack/placement-names.sh` writes the file.
pub static TRAITS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("standard/traits.txt").lines().collect());

/// The position of a class in lists: standard classes in the order of their package, then custom ones by the ledger's
/// number, which grows with creation. A custom class without a number (it is not known) comes last.
pub type ClassOrder = (usize, i64);

/// Whether this is the exact name of a standard class.
pub fn is_standard_class(name: &str) -> bool {
    CLASSES.contains(&name)
}

/// The position of a class in lists; `number` is that of a custom class.
pub fn class_order(name: &str, number: Option<i64>) -> ClassOrder {
    match CLASSES.iter().position(|&standard| standard == name) {
        Some(place) => (place, 0),
        None => (CLASSES.len(), number.unwrap_or(i64::MAX)),
    }
}

/// Whether this is the exact name of a standard trait.
pub fn is_standard_trait(name: &str) -> bool {
    TRAITS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_377_traits_in_ascending_order() {
        assert_eq!(TRAITS.len(), 377);
        assert!(TRAITS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(is_standard_trait(crate::names::SHARES));
        assert!(is_standard_trait("COMPUTE_ACCELERATORS"));
        assert!(is_standard_trait("STORAGE_DISK_SSD"));
        for other in ["", "CUSTOM_FAST", "storage_disk_ssd", "STORAGE_DISK_SSD\n", "VCPU"] {
            assert!(!is_standard_trait(other), "{other:?}");
        }
    }

    #[test]
    fn classes_are_in_the_order_of_placement_and_custom_ones_follow() {
        assert_eq!(CLASSES.len(), 21);
        assert_eq!(CLASSES[..3], ["VCPU", "MEMORY_MB", "DISK_GB"]);
        assert_eq!(CLASSES[20], "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC");
        assert!(CLASSES.iter().all(|name| is_standard_class(name)));
        assert!(!is_standard_class("CUSTOM_GOLD") && !is_standard_class("vcpu"));

        let mut names =
            vec![("CUSTOM_A", Some(2)), ("PCPU", None), ("CUSTOM_B", Some(1)), ("CUSTOM_0", None), ("VCPU", None)];
        names.sort_by_key(|&(name, number)| class_order(name, number));
        let sorted: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(sorted, ["VCPU", "PCPU", "CUSTOM_B", "CUSTOM_A", "CUSTOM_0"]);
    }
}
