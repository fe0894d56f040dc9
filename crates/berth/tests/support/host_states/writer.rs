//! Who has written a commit: the manager that the API server records as the owner of a field that has changed.

use serde_json::{Map, Value};

/// What the API server records of a client is the first part of its user agent.
pub fn is_test(manager: &str) -> bool {
    manager == super::TESTS || manager.starts_with("kubectl")
}

/// The fields that say how much a Reservation takes, and where. None of them is in a list, whose elements can have
/// different owners.
const FIELDS: [&[&str]; 5] = [
    &["spec", "type"],
    &["spec", "targetHost"],
    &["spec", "resources"],
    &["spec", "committedResourceReservation", "allocations"],
    &["status", "host"],
];

/// The writer of an object in its new state; `unknown` if the commit only removed fields, which then have no owner.
pub fn of(old: Option<&Value>, new: &Value) -> String {
    let mut changed = Vec::new();
    for field in FIELDS {
        if let Some(value) = at(new, field) {
            collect(old.and_then(|old| at(old, field)), value, field.to_vec(), &mut changed);
        }
    }
    let mut managers = new["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owner = managers.find(|entry| changed.iter().any(|path| owns(&entry["fieldsV1"], path)));
    owner.and_then(|entry| entry["manager"].as_str()).unwrap_or("unknown").to_owned()
}

fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, name| value.get(name))
}

/// The paths of all fields that are new or have another value.
fn collect<'a>(old: Option<&Value>, new: &'a Value, path: Vec<&'a str>, changed: &mut Vec<Vec<&'a str>>) {
    match new {
        _ if old == Some(new) => {}
        Value::Object(members) if !members.is_empty() => collect_members(old, members, &path, changed),
        _ => changed.push(path),
    }
}

fn collect_members<'a>(
    old: Option<&Value>,
    members: &'a Map<String, Value>,
    path: &[&'a str],
    changed: &mut Vec<Vec<&'a str>>,
) {
    for (name, value) in members {
        collect(old.and_then(|old| old.get(name)), value, [path, &[name.as_str()]].concat(), changed);
    }
}

/// Whether the recorded fields have this path, or own a whole value that it is in.
fn owns(fields: &Value, path: &[&str]) -> bool {
    let mut fields = fields;
    for name in path {
        match fields.get(format!("f:{name}")) {
            Some(below) => fields = below,
            None => return false,
        }
        if fields.as_object().is_some_and(Map::is_empty) {
            return true;
        }
    }
    true
}
