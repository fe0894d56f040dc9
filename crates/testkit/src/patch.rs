//! What a patch makes of an object: a JSON merge patch (RFC 7386), limited to the part of the object that the endpoint
//! may change. Whether it may be applied at all is decided in `objects`.

use serde_json::{Map, Value};

/// What belongs to the API server, whatever a patch says.
const FIXED: [&str; 6] = ["name", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"];

/// The object after a merge patch of the main endpoint: status and what belongs to the API server stay.
pub(crate) fn main(old: &Value, patch: &Value) -> Value {
    let mut new = old.clone();
    merge(&mut new, patch);
    put(&mut new, "status", old.get("status"));
    let metadata = |key: &str| old["metadata"].get(key);
    for key in FIXED {
        put(&mut new["metadata"], key, metadata(key));
    }
    tidy(&mut new);
    new
}

/// The object after a merge patch of `/status`: everything else stays.
pub(crate) fn status(old: &Value, patch: &Value) -> Value {
    let mut new = old.clone();
    if let Some(part) = patch.get("status") {
        let wrapped = Value::Object(Map::from_iter([("status".to_owned(), part.clone())]));
        merge(&mut new, &wrapped);
    }
    new
}

/// True if a patch asks for another spec: everything besides metadata and status counts.
pub(crate) fn changes_spec(old: &Value, new: &Value) -> bool {
    let spec = |object: &Value| {
        let mut rest = object.as_object().cloned().unwrap_or_default();
        rest.retain(|key, _| key != "metadata" && key != "status");
        rest
    };
    spec(old) != spec(new)
}

/// An empty list of finalizers is no list.
pub(crate) fn tidy(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    if metadata.get("finalizers").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        metadata.remove("finalizers");
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(target) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

fn put(target: &mut Value, key: &str, value: Option<&Value>) {
    let Some(target) = target.as_object_mut() else { return };
    match value {
        Some(value) => target.insert(key.to_owned(), value.clone()),
        None => target.remove(key),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({ "metadata": { "name": "a", "uid": "1", "labels": { "x": "1", "y": "2" } },
                "spec": { "host": "h1", "list": [1, 2] }, "status": { "host": "h1" } })
    }

    #[test]
    fn a_merge_patch_removes_with_null_and_replaces_lists() {
        let new = main(
            &object(),
            &json!({ "metadata": { "labels": { "x": null } }, "spec": { "list": [3], "deep": { "a": null, "b": 1 } } }),
        );
        assert_eq!(new["metadata"]["labels"], json!({ "y": "2" }));
        assert_eq!(new["spec"], json!({ "host": "h1", "list": [3], "deep": { "b": 1 } }));
        assert!(changes_spec(&object(), &new));
    }

    #[test]
    fn each_endpoint_leaves_the_part_of_the_other_alone() {
        let patch = json!({ "metadata": { "uid": "9", "finalizers": [] }, "status": { "host": null, "at": 1 } });
        assert_eq!(main(&object(), &patch), object());
        let new = status(&object(), &patch);
        assert_eq!((&new["metadata"], &new["status"]), (&object()["metadata"], &json!({ "at": 1 })));
    }
}
