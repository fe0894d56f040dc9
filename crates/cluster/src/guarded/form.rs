//! How an object comes to us: as the text of an answer or of a line of a watch, which is read only once it is known what
//! for; or as a tree, when somebody had to put it aside first because the type of a watch event came after its object.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Value, value::RawValue};

/// By this name `serde_json` is asked for the text. Should it not know the name any more, it gives a tree.
const TEXT: &str = "$serde_json::private::RawValue";

/// JSON that has not been looked into.
pub(super) enum Form {
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

#[cfg(test)]
mod tests {
    use kube::core::WatchEvent;

    use super::*;

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
}
