//! How absent, empty and `null` values are read.

use serde::{Deserialize, Deserializer};

/// Reads `""` as absent. The fields that use it are left out when they are empty, so both mean "not set".
pub(crate) fn non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

/// Reads `null` as the default of the type. Free-form content is not cleaned of `null` by the API server.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// For numbers that are left out when they are 0.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
pub(crate) fn is_zero(number: &i64) -> bool {
    *number == 0
}
