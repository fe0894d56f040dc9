//! Quantities in their wire format.
//!
//! Only the text is kept; `berth-core` decides its value and its canonical form.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::schema;

/// An amount with an optional suffix, for example `480Gi`, `30` or `1e3`.
///
/// Memory is in bytes, CPU in cores. Old objects may hold a JSON integer instead of a string; it is read as its
/// decimal text, so that `40` and `"40"` are the same value here.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Quantity(pub String);

impl Quantity {
    /// The text as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Quantity {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StringOrInteger)
    }
}

struct StringOrInteger;

impl de::Visitor<'_> for StringOrInteger {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity such as \"480Gi\", or an integer")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Ok(Quantity(text.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }
}

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema::quantity()
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn a_string_is_kept_as_it_stands() {
        let read: Quantity = serde_json::from_str("\"0.5Ki\"").unwrap();
        assert_eq!(read, Quantity::from("0.5Ki"));
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"0.5Ki\"");
    }

    #[test]
    fn an_integer_is_read_as_its_decimal_text() {
        assert_eq!(serde_json::from_str::<Quantity>("40").unwrap(), Quantity::from("40"));
        assert_eq!(serde_json::from_str::<Quantity>("-5").unwrap(), Quantity::from("-5"));
        assert_eq!(serde_json::from_str::<Quantity>("18446744073709551615").unwrap().as_str(), "18446744073709551615");
    }

    #[test]
    fn other_types_are_errors_that_say_what_was_expected() {
        let error = serde_json::from_str::<Quantity>("1.5").unwrap_err().to_string();
        assert!(error.contains("a quantity such as \"480Gi\", or an integer"), "{error}");
    }
}
