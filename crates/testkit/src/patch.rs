//! Applies patches: a JSON merge patch (RFC 7386) or a JSON patch (RFC 6902). `objects` decides whether a patch may be
//! applied, and to which part of the object.

use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// Applies a merge patch to `target`; null removes a member.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in patch {
        merge_field(target, key, value);
    }
}

/// Applies a merge patch to one field of an object.
pub(crate) fn merge_field(target: &mut Value, key: &str, value: &Value) {
    let Some(target) = target.as_object_mut() else { return };
    if value.is_null() {
        target.remove(key);
    } else if let Some(inner) = target.get_mut(key) {
        merge(inner, value);
    } else {
        let mut inner = Value::Null;
        merge(&mut inner, value);
        target.insert(key.to_owned(), inner);
    }
}

/// Applies a JSON patch to `target`, completely or not at all.
pub(crate) fn apply(target: &mut Value, patch: &Value) -> Result<(), Refusal> {
    let patch: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|error| Refusal::bad_request(error.to_string()))?;
    json_patch::patch(target, &patch).map_err(|error| {
        let message = "the server rejected our request due to an error in our request";
        Refusal::new(422, "Invalid", "", format!("{message}: {error}"))
    })
}

/// Sets a field, or removes it.
pub(crate) fn put(target: &mut Value, key: &str, value: Option<&Value>) {
    let Some(target) = target.as_object_mut() else { return };
    match value {
        Some(value) if target.get(key) == Some(value) => {}
        Some(value) => drop(target.insert(key.to_owned(), value.clone())),
        None => drop(target.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_removes_with_null_and_replaces_lists() {
        let mut object = json!({ "labels": { "x": "1", "y": "2" }, "spec": { "host": "h1", "list": [1, 2] } });
        let patch = json!({ "labels": { "x": null }, "spec": { "list": [3], "deep": { "a": null, "b": 1 } } });
        merge(&mut object, &patch);
        let spec = json!({ "host": "h1", "list": [3], "deep": { "b": 1 } });
        assert_eq!(object, json!({ "labels": { "y": "2" }, "spec": spec }));
    }

    #[test]
    fn a_json_patch_applies_as_a_whole_or_not_at_all() {
        let mut object = json!({ "a": [1] });
        let add = json!({ "op": "add", "path": "/a/-", "value": 2 });
        apply(&mut object, &json!([add])).unwrap();
        assert_eq!(object, json!({ "a": [1, 2] }));
        let fails = json!([add, { "op": "test", "path": "/a/0", "value": 9 }]);
        assert_eq!(apply(&mut object, &fails).unwrap_err().code, 422);
        assert_eq!(apply(&mut object, &json!({})).unwrap_err().code, 400);
        assert_eq!(object, json!({ "a": [1, 2] }));
    }
}
