//! The merge patch that turns one JSON value into another (RFC 7386). Only differences are sent, so unknown fields stay
//! and writers of different keys do not overwrite each other.

use serde_json::{Map, Value};

/// The keys that differ: a removed key as `null`, a list as a whole. `None` if nothing differs.
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => Some(Value::Object(differing(old, new))),
        _ => Some(new.clone()),
    }
}

fn differing(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let removed = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let empty = Value::Object(Map::new());
    let changed = new.iter().filter_map(|(key, new)| {
        // A new object is compared with an empty one: `null`s inside of it mean "absent" in a patch anyway.
        let before = old.get(key).unwrap_or(if new.is_object() { &empty } else { &Value::Null });
        let value = match difference(before, new) {
            None if !old.contains_key(key) && !new.is_null() => Some(new.clone()),
            value => value,
        };
        Some((key.clone(), value?))
    });
    removed.chain(changed).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_sent() {
        let old = json!({ "spec": { "host": "h1", "cpu": 4, "vms": { "a": 1, "b": 2 } }, "list": [1, 2], "same": { "x": 1 } });
        let new =
            json!({ "spec": { "cpu": 4, "vms": { "b": 2, "c": 3 } }, "list": [1], "same": { "x": 1 }, "extra": {} });
        let expected = json!({ "spec": { "host": null, "vms": { "a": null, "c": 3 } }, "list": [1], "extra": {} });
        assert_eq!(difference(&old, &new), Some(expected));
        assert_eq!(difference(&old, &old), None);
    }

    #[test]
    fn a_status_that_goes_away_is_removed_as_a_whole() {
        assert_eq!(difference(&json!({ "status": { "host": "h" } }), &json!({})), Some(json!({ "status": null })));
    }

    /// The reference algorithm of RFC 7386.
    fn merged(target: Value, patch: &Value) -> Value {
        let Value::Object(patch) = patch else { return patch.clone() };
        let mut target = match target {
            Value::Object(target) => target,
            _ => Map::new(),
        };
        for (key, value) in patch {
            let before = target.remove(key).unwrap_or_default();
            if !value.is_null() {
                target.insert(key.clone(), merged(before, value));
            }
        }
        Value::Object(target)
    }

    /// JSON without `null` inside of objects: our types leave absent fields out, and a merge patch cannot set `null`.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..3).prop_map(Value::from),
            "[ab]".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn applied_to_the_old_value_it_gives_the_new_one(old in value(), new in value()) {
            let patched = difference(&old, &new).map_or(old.clone(), |patch| merged(old, &patch));
            prop_assert_eq!(patched, new);
        }
    }
}
