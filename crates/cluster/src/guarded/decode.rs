//! From the JSON of an object to its type without a tree of JSON in between, and without `metadata.managedFields`: a third
//! of the object, and of no use to anybody here. What becomes of an object that does not decode is decided by whoever asks.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
        value::{CowStrDeserializer, MapAccessDeserializer},
    },
};

/// The object that this text is.
pub(super) fn decode<'de, K: Deserialize<'de>>(text: &'de str) -> serde_json::Result<K> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let object = Slim { place: Place::Object, seed: PhantomData }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(object)
}

/// What a map is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// The object itself.
    Object,
    /// Its metadata.
    Metadata,
}

/// Reads a map as `seed` would, but for what is left out.
struct Slim<S> {
    place: Place,
    seed: S,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Slim<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Slim<S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<S::Value, A::Error> {
        self.seed.deserialize(MapAccessDeserializer::new(Passing { place: self.place, at_metadata: false, map }))
    }
}

/// The entries of a map that are not left out.
struct Passing<A> {
    place: Place,
    /// The next value is that of the metadata.
    at_metadata: bool,
    map: A,
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Passing<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(Key(key)) = self.map.next_key()? {
            if self.place == Place::Metadata && key == "managedFields" {
                self.map.next_value::<IgnoredAny>()?;
                continue;
            }
            self.at_metadata = self.place == Place::Object && key == "metadata";
            let key: CowStrDeserializer<'_, A::Error> = key.into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        if self.at_metadata {
            return self.map.next_value_seed(Slim { place: Place::Metadata, seed });
        }
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_the_managed_fields_of_the_metadata_are_left_out() {
        let fields = json!([{ "manager": "kubectl" }]);
        let whole = json!({ "metadata": { "name": "a\n\"b", "managedFields": fields, "labels": { "managedFields": "c" } },
                            "spec": { "managedFields": fields, "metadata": { "managedFields": fields } } });
        let mut slim = whole.clone();
        slim["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(decode::<Value>(&whole.to_string()).unwrap(), slim);
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for text in ["[]", "{\"metadata\": 3}", "{\"metadata\": {\"managedFields\": ", "{} {}", "null"] {
            decode::<Value>(text).unwrap_err();
        }
    }
}
