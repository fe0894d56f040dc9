//! Edits of an object, as data.

use serde_json::Value;

/// One edit at a place in an object, given as a JSON pointer.
#[derive(Clone, Debug)]
pub struct Edit {
    pointer: &'static str,
    value: Option<Value>,
}

/// Sets the value at a place that may be new.
pub fn set(pointer: &'static str, value: impl Into<Value>) -> Edit {
    Edit { pointer, value: Some(value.into()) }
}

pub fn remove(pointer: &'static str) -> Edit {
    Edit { pointer, value: None }
}

pub fn edited(mut object: Value, edits: &[Edit]) -> Value {
    for edit in edits {
        let (parent, key) = edit.pointer.rsplit_once('/').unwrap();
        match object.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {parent}")) {
            Value::Object(fields) => match edit.value.clone() {
                Some(value) => drop(fields.insert(key.to_owned(), value)),
                None => drop(fields.remove(key).unwrap_or_else(|| panic!("nothing at {}", edit.pointer))),
            },
            Value::Array(elements) => {
                let (at, value) = (key.parse::<usize>().unwrap(), edit.value.clone().unwrap());
                if at == elements.len() { elements.push(value) } else { elements[at] = value }
            }
            other => panic!("{parent} is {other}"),
        }
    }
    object
}
