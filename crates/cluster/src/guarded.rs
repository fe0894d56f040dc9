//! Reading one object without letting a malformed one stop the list (document 10 section 0.5). It decides whether an
//! object decodes and keeps what is needed if it does not: its metadata, the error and the raw JSON, because a
//! Reservation that we cannot read still holds its host. What is done with it is the business of the store.

use std::{borrow::Cow, sync::Arc};

use kube::{
    Resource,
    core::{ClusterResourceScope, ObjectMeta},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

mod decode;
mod form;

use crate::Kind;
use decode::decode;
use form::Form;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
}
