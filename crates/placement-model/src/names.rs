//! Names of resource classes and traits, and which of them are custom.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The trait of providers whose inventory others may use.
pub const SHARES: &str = "MISC_SHARES_VIA_AGGREGATE";

/// The most characters that a name has.
const LONGEST: usize = 255;

/// Whether a class or trait may be created with this name: `CUSTOM_` and capital letters, digits and underscores, at
/// most 255 characters.
pub fn is_custom(name: &str) -> bool {
    let fits = |rest: &str| !rest.is_empty() && rest.bytes().all(|one| matches!(one, b'A'..=b'Z' | b'0'..=b'9' | b'_'));
    name.len() <= LONGEST && name.strip_prefix("CUSTOM_").is_some_and(fits)
}

macro_rules! name {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: &str) -> Self {
                Self(Arc::from(text))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The name of a resource class, such as `VCPU` or `CUSTOM_GOLD`.
    ClassName
}
name! {
    /// The name of a trait, such as `HW_CPU_X86_AVX2` or `CUSTOM_FAST`.
    TraitName
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_name_is_all_of_the_pattern() {
        for name in ["CUSTOM_A", "CUSTOM__", "CUSTOM_A_9", &format!("CUSTOM_{}", "A".repeat(248))] {
            assert!(is_custom(name), "{name}");
        }
        let long = format!("CUSTOM_{}", "A".repeat(249));
        for name in
            ["", "CUSTOM_", "CUSTOM", "VCPU", "custom_A", "CUSTOM_a", "CUSTOM_A\n", "CUSTOM_Ä", " CUSTOM_A", &long]
        {
            assert!(!is_custom(name), "{name:?}");
        }
    }
}
