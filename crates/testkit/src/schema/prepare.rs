//! What the API server makes of an object before it looks at it: nulls that say nothing go, defaults come, and unknown
//! fields go.

use serde_json::{Map, Value};

use super::Node;

/// What stands beside the schema in every object.
const BUILT_IN: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Prepares a whole object.
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

/// Takes nulls away where there may be none, and fills in defaults.
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
