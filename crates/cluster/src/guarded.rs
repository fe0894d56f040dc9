//! Reading one object without letting a malformed one stop the list. It decides whether an object decodes and keeps
//! what is needed if it does not: its metadata, the error and the raw JSON, because a Reservation that we cannot read
//! still holds its host. What is done with it is the business of the store.

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

use crate::Kind;

/// What could be read of an object: all of it, or only that it is there.
#[derive(Clone, Debug)]
pub enum Guarded<K> {
    /// The object decodes.
    Whole(K),
    /// It does not.
    Broken(Box<Broken>),
}

/// An object that does not decode as its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// Its metadata, as far as they are readable.
    pub metadata: ObjectMeta,
    /// What is wrong with it.
    pub error: Arc<str>,
    /// The object as the API server sent it, without `managedFields`.
    pub raw: Arc<Value>,
}

impl<K> Guarded<K> {
    /// The object, if it decodes.
    pub fn whole(self) -> Option<K> {
        match self {
            Self::Whole(object) => Some(object),
            Self::Broken(_) => None,
        }
    }
}

impl<'de, K: Kind> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            // What does not decode is read again, slowly. That it is JSON is known.
            Form::Text(text) => decode(text.get())
                .map_or_else(|_| Self::of_tree(serde_json::from_str(text.get()).unwrap_or_default()), Self::Whole),
            Form::Tree(raw) => Self::of_tree(raw),
        })
    }
}

impl<K: Kind> Guarded<K> {
    fn of_tree(mut raw: Value) -> Self {
        if let Some(metadata) = raw.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        match K::deserialize(&raw) {
            Ok(object) => Self::Whole(object),
            Err(error) => Self::Broken(Box::new(Broken {
                metadata: metadata(&raw),
                error: error.to_string().into(),
                raw: Arc::new(raw),
            })),
        }
    }
}

/// The metadata of a malformed object; if even they are malformed, the three fields that the store lives on.
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

impl<K: Kind> Serialize for Guarded<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(object) => object.serialize(serializer),
            Self::Broken(broken) => broken.raw.serialize(serializer),
        }
    }
}

impl<K: Kind> Resource for Guarded<K> {
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
            Self::Whole(object) => object.meta(),
            Self::Broken(broken) => &broken.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Whole(object) => object.meta_mut(),
            Self::Broken(broken) => &mut broken.metadata,
        }
    }
}

// How an object comes to us: as the text of an answer or of a line of a watch, which is read only once it is known what
// for; or as a tree, when somebody had to put it aside first because the type of a watch event came after its object.

/// By this name `serde_json` is asked for the text. Should it not know the name any more, it gives a tree.
const TEXT: &str = "$serde_json::private::RawValue";

/// JSON that has not been looked into.
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

// From the JSON of an object to its type without a tree of JSON in between, and without `metadata.managedFields`: a third
// of the object, and of no use to anybody here. What becomes of an object that does not decode is decided by whoever asks.

/// The object that this text is.
fn decode<'de, K: Deserialize<'de>>(text: &'de str) -> serde_json::Result<K> {
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
    use kube::core::WatchEvent;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Thing;

    fn read(raw: Value) -> Guarded<Thing> {
        serde_json::from_value(raw).unwrap()
    }

    #[test]
    fn a_malformed_object_keeps_metadata_error_and_raw_json() {
        let raw = json!({ "metadata": { "name": "a", "uid": "1", "resourceVersion": "7" }, "spec": { "room": "much", "host": "h" } });
        let Guarded::Broken(broken) = read(raw.clone()) else { panic!("decodes") };
        assert_eq!((broken.metadata.name.as_deref(), broken.metadata.uid.as_deref()), (Some("a"), Some("1")));
        assert_eq!((&*broken.raw, broken.error.contains("much")), (&raw, true));
    }

    #[test]
    fn malformed_metadata_do_not_hide_which_object_it_is() {
        let raw = json!({ "metadata": { "name": "a", "uid": "1", "resourceVersion": "7", "labels": 3 }, "spec": { "room": 1 } });
        let object = read(raw);
        let meta = object.meta();
        assert_eq!((meta.name.as_deref(), meta.resource_version.as_deref()), (Some("a"), Some("7")));
        assert!(object.whole().is_none());
    }

    #[test]
    fn managed_fields_are_not_kept() {
        let raw =
            json!({ "metadata": { "name": "a", "managedFields": [{ "manager": "kubectl" }] }, "spec": { "room": 1 } });
        assert_eq!(read(raw).whole().unwrap().metadata.managed_fields, None);
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
