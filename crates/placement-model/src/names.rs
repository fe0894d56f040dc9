//! Names of resource classes and traits. It decides nothing about which exist.

use std::{borrow::Borrow, fmt, sync::Arc};

/// The trait of providers whose inventory others may use (document 51 section 12.2).
pub const SHARES: &str = "MISC_SHARES_VIA_AGGREGATE";

macro_rules! name {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name, whether or not it exists.
            pub fn new(text: &str) -> Self {
                Self(Arc::from(text))
            }

            /// The text.
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
