//! Declares the settings of one object. The doc comment of a field is also the documentation of its key.

/// A struct and the function that reads it. A field is read by the method of [`super::section::Section`] that is named
/// behind `=`, or is the value in parentheses; the word behind the function's parameters is the method that checks all fields.
macro_rules! settings {
    ($(#[$meta:meta])* pub struct $name:ident = $read:ident($s:ident $(, $param:ident: $kind:ty)*) $($check:ident)? {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $($method:ident)? ($($arg:tt)*),)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl $name {
            pub(super) fn $read($s: &mut super::section::Section<'_> $(, $param: $kind)*) -> Self {
                let this = Self {
                    $($field: super::settings::setting!($s, concat!($($doc),+), $($method)?, $($arg)*),)*
                };
                $(this.$check($s);)?
                this
            }
        }
    };
}

macro_rules! setting {
    ($s:ident, $meaning:expr, , $($value:tt)*) => { $($value)* };
    ($s:ident, $meaning:expr, $method:ident, $($arg:tt)*) => { $s.$method($($arg)*, $meaning) };
}

pub(super) use setting;
pub(super) use settings;
