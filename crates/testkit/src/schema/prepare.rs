//! The preparation of an object before it is validated: superfluous nulls are removed, defaults are added, and unknown
//! fields are pruned.

use serde_json::{Map, Value};

use super::Node;

/// The members that every object has besides its schema.
const BUILT_IN: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub(crate) fn prepare(root: &Node, object: &mut Value) {
    let Value::Object(fields) = object else { return };
    if !root.preserve {
        fields.retain(|key, _| BUILT_IN.contains(&key.as_str()) || root.properties.contains_key(key));
    }
    complete(root, fields);
    for (key, value) in fields.iter_mut().filter(|(key, _)| !BUILT_IN.contains(&key.as_str())) {
        if let Some(child) = root.properties.get(key) {
            walk(child, value);
        }
    }
}

fn walk(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let knows = |key: &String| node.properties.contains_key(key) || node.additional.is_some();
            if !node.preserve {
                fields.retain(|key, _| knows(key));
            }
            complete(node, fields);
            for (key, value) in fields.iter_mut() {
                if let Some(child) = node.child(key) {
                    walk(child, value);
                }
            }
        }
        Value::Array(all) => {
            if let Some(item) = node.item() {
                for value in all {
                    walk(item, value);
                }
            }
        }
        _ => {}
    }
}

/// Removes nulls where none are allowed, and adds defaults.
fn complete(node: &Node, fields: &mut Map<String, Value>) {
    if fields.values().any(Value::is_null) {
        fields.retain(|key, value| !value.is_null() || node.child(key).is_none_or(|child| child.nullable));
    }
    for (key, child) in &node.properties {
        if let Some(default) = &child.default
            && !fields.contains_key(key)
        {
            fields.insert(key.clone(), default.clone());
        }
    }
}
