//! Compares capacities with exact fractions, and keys, names and versions with their definitions.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use berth_placement_model::names::is_custom;
use berth_placement_model::{Inventory, Key, Version};
use proptest::prelude::*;

/// Ratios that are fractions of eight, which a double holds exactly.
fn any_inventory() -> impl Strategy<Value = (Inventory, i128)> {
    let integer = || prop_oneof![0_u64..200, Just(Inventory::LARGEST), 0..=Inventory::LARGEST];
    (integer(), integer(), 1_u64..5, 1_u64..300, 1_u64..5, 0_i32..40).prop_map(
        |(total, reserved, min_unit, max_unit, step_size, eighths)| {
            let allocation_ratio = f64::from(eighths) / 8.0;
            let inventory = Inventory { total, reserved, min_unit, max_unit, step_size, allocation_ratio };
            (inventory, (i128::from(total) - i128::from(reserved)) * i128::from(eighths))
        },
    )
}

proptest! {
    #[test]
    fn the_capacity_is_the_product_without_its_fraction((inventory, eighths) in any_inventory()) {
        prop_assert_eq!(i128::from(inventory.capacity()), eighths / 8);
    }

    #[test]
    fn an_amount_has_capacity_while_the_sum_is_within_the_product_before_it_is_cut(
        (inventory, eighths) in any_inventory(),
        used in 0_u64..1000,
        amount in 0_u64..1000,
    ) {
        let sum = i128::from(used) + i128::from(amount);
        prop_assert_eq!(inventory.has_capacity(used, amount), sum * 8 <= eighths);
        let allowed = (inventory.min_unit..=inventory.max_unit).contains(&amount) && amount % inventory.step_size == 0;
        prop_assert_eq!(inventory.allows(amount), allowed);
        prop_assert_eq!(inventory.fits(used, amount), allowed && sum * 8 <= eighths);
    }

    #[test]
    fn amounts_that_no_integer_holds_never_have_capacity((inventory, _) in any_inventory(), used in 1_u64..1000) {
        prop_assert!(!inventory.has_capacity(used, u64::MAX));
        prop_assert!(!inventory.has_capacity(u64::MAX, used));
    }

    #[test]
    fn a_uuid_is_the_same_key_however_it_is_spelled(number in any::<u128>(), is_upper in any::<bool>(), form in 0_u8..5) {
        let digits = format!("{number:032x}");
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-");
        let spelled = match form {
            0 => parts.clone(),
            1 => digits,
            2 => format!("urn:uuid:{parts}"),
            3 => format!("{{{parts}}}"),
            _ => digits.chars().flat_map(|digit| [digit, '-']).collect(),
        };
        let digits_only = |text: &str| text.split_once("uuid:").map_or(text.to_owned(), |(_, uuid)| uuid.to_owned());
        let spelled = if is_upper { digits_only(&spelled).to_uppercase() } else { spelled };
        prop_assert_eq!(Key::new(&spelled), Key::new(&parts), "{}", spelled);
        prop_assert_eq!(Key::new(&spelled).to_string(), parts);
    }

    #[test]
    fn what_is_no_uuid_is_a_key_as_it_is(text in "[a-z0-9 ]{0,31}") {
        let key = Key::new(&text);
        prop_assert_eq!(key.as_str(), text);
    }

    #[test]
    fn custom_names_are_those_of_the_pattern(name in "(CUSTOM_)?[A-Z0-9_a-z\u{e4}-]{0,6}") {
        let rest = name.strip_prefix("CUSTOM_");
        let fits = |one: char| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_';
        prop_assert_eq!(is_custom(&name), rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(fits)));
    }
}

#[test]
fn versions_are_ordered_and_each_has_what_came_before_it() {
    let all: Vec<Version> = (0..=39).map(|minor| Version::new(minor).unwrap()).collect();
    assert!(all.is_sorted());
    assert_eq!((all[0], all[39]), (Version::OLDEST, Version::NEWEST));
    assert_eq!(Version::new(40), None);
    for (place, version) in all.iter().enumerate() {
        assert_eq!(version.to_string(), format!("1.{place}"));
        assert_eq!(usize::from(version.minor()), place);
        assert!(all.iter().enumerate().all(|(other, what)| version.has(*what) == (other <= place)));
    }
    assert_eq!((Version::TRAITS.minor(), Version::GRANULAR_GROUPS.minor(), Version::ANY_TRAITS.minor()), (6, 25, 39));
}
