//! Decodes an object without letting an invalid one fail the whole list. An invalid object keeps its metadata, the
//! error and the raw JSON, because a Reservation that cannot be read still holds its host.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use kube::Resource;
use kube::core::{ClusterResourceScope, ObjectMeta};
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

mod dates;

use crate::Kind;

/// The decoded object, or only its metadata if it is invalid.
#[derive(Clone, Debug)]
pub enum DecodeGuard<K> {
    Valid(K),
    Invalid(Box<InvalidObject>),
}

/// An object that does not decode as its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidObject {
    /// Its metadata, as far as they are valid.
    pub metadata: ObjectMeta,
    /// The field that does not decode, and why.
    pub error: Arc<str>,
    /// The object as the API server sent it, without `managedFields`.
    pub raw: Arc<Value>,
}

impl<K> DecodeGuard<K> {
    pub fn into_valid(self) -> Option<K> {
        match self {
            Self::Valid(object) => Some(object),
            Self::Invalid(_) => None,
        }
    }
}

impl<'de, K: Kind> Deserialize<'de> for DecodeGuard<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            // An object that does not decode is read again, more slowly, as JSON.
            Form::Text(text) => decode(text.get())
                .map_or_else(|_| Self::of_tree(serde_json::from_str(text.get()).unwrap_or_default()), Self::Valid),
            Form::Tree(raw) => Self::of_tree(raw),
        })
    }
}

impl<K: Kind> DecodeGuard<K> {
    fn of_tree(mut raw: Value) -> Self {
        if let Some(metadata) = raw.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        match K::deserialize(&raw).or_else(|_| decode_without_late_dates(&raw)) {
            Ok(object) => Self::Valid(object),
            Err(error) => Self::Invalid(Box::new(InvalidObject {
                metadata: metadata(&raw),
                error: error.to_string().into(),
                raw: Arc::new(raw),
            })),
        }
    }
}

/// The error names the field.
fn decode_without_late_dates<K: Kind>(raw: &Value) -> Result<K, serde_path_to_error::Error<serde_json::Error>> {
    let mut bounded = raw.clone();
    dates::saturate(&mut bounded);
    serde_path_to_error::deserialize(&bounded)
}

/// The metadata of an invalid object; if even they are invalid, the three fields that the store lives on.
fn metadata(raw: &Value) -> ObjectMeta {
    let all = raw.get("metadata").unwrap_or(&Value::Null);
    let text = |key: &str| all.get(key).and_then(Value::as_str).map(str::to_owned);
    ObjectMeta::deserialize(all).unwrap_or_else(|_| ObjectMeta {
        name: text("name"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        ..ObjectMeta::default()
    })
}

impl<K: Kind> Serialize for DecodeGuard<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Valid(object) => object.serialize(serializer),
            Self::Invalid(invalid) => invalid.raw.serialize(serializer),
        }
    }
}

impl<K: Kind> Resource for DecodeGuard<K> {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Valid(object) => object.meta(),
            Self::Invalid(invalid) => &invalid.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Valid(object) => object.meta_mut(),
            Self::Invalid(invalid) => &mut invalid.metadata,
        }
    }
}

// The form in which an object arrives: as the text of a response or of a line of a watch, which is decoded when its
// type is known; or as a tree, if `serde` had to buffer it because the type of a watch event came after its object.

/// `serde_json` returns the raw text for this name. If a later version does not know the name, it returns a tree.
const TEXT: &str = "$serde_json::private::RawValue";

/// JSON that was not parsed.
enum Form {
    Text(Box<RawValue>),
    Tree(Value),
}

impl<'de> Deserialize<'de> for Form {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(TEXT, Either)
    }
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Form;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, text: A) -> Result<Form, A::Error> {
        Box::deserialize(MapAccessDeserializer::new(text)).map(Form::Text)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, tree: D) -> Result<Form, D::Error> {
        Value::deserialize(tree).map(Form::Tree)
    }
}

// Decodes the JSON of an object without an intermediate tree and without `metadata.managedFields`, which are a third of
// the object and never used. The caller decides about an object that does not decode.

fn decode<'de, K: Deserialize<'de>>(text: &'de str) -> serde_json::Result<K> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let object = Slim { place: Place::Object, seed: PhantomData }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(object)
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Object,
    Metadata,
}

/// Reads a map as `seed` would, without the omitted fields.
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
    use kube::core::WatchEvent;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Thing;

    fn read(raw: Value) -> DecodeGuard<Thing> {
        serde_json::from_value(raw).unwrap()
    }

    #[test]
    fn a_malformed_object_keeps_metadata_error_and_raw_json() {
        let raw = json!({ "metadata": { "name": "a", "uid": "1", "resourceVersion": "7" }, "spec": { "size": "much", "host": "h" } });
        let DecodeGuard::Invalid(invalid) = read(raw.clone()) else { panic!("decodes") };
        assert_eq!((invalid.metadata.name.as_deref(), invalid.metadata.uid.as_deref()), (Some("a"), Some("1")));
        assert_eq!(&*invalid.raw, &raw);
        assert!(invalid.error.starts_with("spec.size: ") && invalid.error.contains("much"), "{}", invalid.error);
    }

    #[test]
    fn malformed_metadata_do_not_hide_which_object_it_is() {
        let raw = json!({ "metadata": { "name": "a", "uid": "1", "resourceVersion": "7", "labels": 3 }, "spec": { "size": 1 } });
        let object = read(raw);
        let meta = object.meta();
        assert_eq!((meta.name.as_deref(), meta.resource_version.as_deref()), (Some("a"), Some("7")));
        assert!(object.into_valid().is_none());
    }

    #[test]
    fn managed_fields_are_not_kept() {
        let raw =
            json!({ "metadata": { "name": "a", "managedFields": [{ "manager": "kubectl" }] }, "spec": { "size": 1 } });
        assert_eq!(read(raw).into_valid().unwrap().metadata.managed_fields, None);
    }

    fn event(text: &str) -> Form {
        match serde_json::from_str(text).unwrap() {
            WatchEvent::Added(form) => form,
            event => panic!("{event:?}"),
        }
    }

    #[test]
    fn the_text_is_kept_unless_the_type_comes_late() {
        assert!(
            matches!(event(r#"{"type":"ADDED","object":{"a": 1}}"#), Form::Text(text) if text.get() == r#"{"a": 1}"#)
        );
        assert!(matches!(event(r#"{"object":{"a": 1},"type":"ADDED"}"#), Form::Tree(tree) if tree["a"] == 1));
        assert!(matches!(serde_json::from_str("[1]").unwrap(), Form::Text(text) if text.get() == "[1]"));
    }

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
