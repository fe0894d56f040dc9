//! The metadata of objects: the members that belong to the API server, the allowed ones, and the meaning of empty ones.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::kinds::KindInfo;
use crate::patch::put;
use crate::refusal::Refusal;
use crate::schema::{Path, Problems, SchemaProblem};

/// The members that belong to the API server, whatever a write contains.
const FIXED: [&str; 8] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// The members that users may set besides. Field managers are not tracked.
const FREE: [&str; 5] = ["labels", "annotations", "finalizers", "ownerReferences", "generateName"];

/// The text in a field of the metadata.
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(key)?.as_str().filter(|text| !text.is_empty())
}

pub(crate) fn version(object: &Value) -> Option<&str> {
    text(object, "resourceVersion").filter(|version| *version != "0")
}

/// Whether the object is being deleted.
pub(crate) fn is_dying(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

pub(crate) fn finalizers(object: &Value) -> &[Value] {
    object["metadata"]["finalizers"].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn next_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"].get_mut("generation") {
        *generation = json!(generation.as_i64().unwrap_or_default() + 1);
    }
}

/// Restores the members of the API server.
pub(crate) fn keep_fixed(object: &mut Value, old: &Value) {
    for key in FIXED {
        put(&mut object["metadata"], key, old["metadata"].get(key));
    }
}

/// Removes unknown and empty members. Returns the rest, or what has the wrong type.
pub(crate) fn tidy(object: &mut Value) -> Result<(), Refusal> {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Err(Refusal::bad_request("metadata is no object"));
    };
    metadata.retain(|key, value| {
        (FIXED.contains(&key.as_str()) || FREE.contains(&key.as_str())) && !value.is_null() && !is_empty(value)
    });
    let wrong = metadata.iter().find(|(key, value)| !has_its_type(key, value)).map(|(key, _)| key.clone());
    wrong.map_or(Ok(()), |key| Err(Refusal::bad_request(format!("metadata.{key} has another type"))))
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty) || value == ""
}

fn has_its_type(key: &str, value: &Value) -> bool {
    match key {
        "labels" | "annotations" => value.as_object().is_some_and(|all| all.values().all(Value::is_string)),
        "finalizers" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        "ownerReferences" => value.is_array(),
        "generation" | "deletionGracePeriodSeconds" => value.is_i64(),
        _ => value.is_string(),
    }
}

/// Checks the syntax of names, labels and finalizers; on an update also whether finalizers are added to an object that
/// is being deleted.
pub(crate) fn check(kind: &KindInfo, object: &Value, old: Option<&Value>, problems: &mut Problems) {
    let metadata = Path::Field(&Path::Root, "metadata");
    let before = |key: &str| old.and_then(|old| old["metadata"].get(key));
    let name = text(object, "name").unwrap_or_default();
    if old.is_none() && name.is_empty() {
        let text = "Required value: name or generateName is required";
        problems.add(SchemaProblem::Required, &Path::Field(&metadata, "name"), text);
    } else if old.is_none() && !(name.len() <= 253 && patterns().name.is_match(name)) {
        let text = format!(
            "Invalid value: {name:?}: a lowercase RFC 1123 subdomain must consist of lower case \
                            alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
        );
        problems.add(SchemaProblem::Invalid, &Path::Field(&metadata, "name"), text);
    }
    let labels = object["metadata"].get("labels");
    if labels != before("labels") {
        for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
            check_label(key, value.as_str().unwrap_or_default(), &Path::Field(&metadata, "labels"), problems);
        }
    }
    check_finalizers(kind, object, old, &Path::Field(&metadata, "finalizers"), problems);
}

fn check_label(key: &str, value: &str, path: &Path<'_>, problems: &mut Problems) {
    let short = |text: &str| text.len() <= 63;
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("a", key));
    if !(short(name) && patterns().word.is_match(name) && patterns().name.is_match(prefix)) {
        problems.add(
            SchemaProblem::Invalid,
            path,
            format!(
                "Invalid value: {key:?}: name part must consist of alphanumeric \
                     characters, '-', '_' or '.', and must start and end with an alphanumeric character"
            ),
        );
    }
    if !(value.is_empty() || (short(value) && patterns().word.is_match(value))) {
        problems.add(
            SchemaProblem::Invalid,
            path,
            format!(
                "Invalid value: {value:?}: a valid label must be an empty string \
                     or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                     alphanumeric character"
            ),
        );
    }
}

fn check_finalizers(kind: &KindInfo, object: &Value, old: Option<&Value>, path: &Path<'_>, problems: &mut Problems) {
    for finalizer in finalizers(object) {
        let text = finalizer.as_str().unwrap_or_default();
        let name = text.rsplit_once('/').map_or(text, |(_, name)| name);
        if !(name.len() <= 63 && patterns().word.is_match(name)) {
            let text = format!("Invalid value: {text:?}: name part must consist of alphanumeric characters");
            problems.add(SchemaProblem::Invalid, path, text);
        }
    }
    let Some(old) = old.filter(|old| is_dying(old)) else { return };
    let new: Vec<_> =
        finalizers(object).iter().filter(|one| !finalizers(old).contains(one)).map(Value::to_string).collect();
    if !new.is_empty() {
        let text = format!(
            "Forbidden: no new finalizers can be added if the object is being deleted, found new \
                            finalizers []string{{{}}}",
            new.join(", ")
        );
        if kind.custom {
            // The real server reports it twice.
            problems.add(SchemaProblem::Forbidden, path, text.clone());
        }
        problems.add(SchemaProblem::Forbidden, path, text);
    }
}

/// Checks that kind, namespace and name of the object match the path of the request.
pub(crate) fn check_place(
    kind: &KindInfo,
    object: &mut Value,
    namespace: &str,
    name: Option<&str>,
) -> Result<(), Refusal> {
    let wanted = [("apiVersion", &kind.group_version), ("kind", &kind.kind)];
    for (key, wanted) in wanted {
        if object[key] != **wanted {
            return Err(Refusal::bad_request(format!("{key} is {}, but {wanted} is served here", object[key])));
        }
    }
    if let Some(name) = name {
        check_name(object, name)?;
    }
    if text(object, "namespace").is_some_and(|is| is != namespace) {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Refusal::bad_request(message));
    }
    if object.get("metadata").is_none_or(Value::is_null) {
        object["metadata"] = json!({});
    }
    if !namespace.is_empty() {
        put(&mut object["metadata"], "namespace", Some(&json!(namespace)));
    }
    Ok(())
}

/// Checks that the object has the name of the path, if it has one.
pub(crate) fn check_name(object: &Value, name: &str) -> Result<(), Refusal> {
    match text(object, "name") {
        Some(is) if is != name => {
            let message = format!("the name of the object ({is}) does not match the name on the URL ({name})");
            Err(Refusal::bad_request(message))
        }
        _ => Ok(()),
    }
}

struct Patterns {
    name: Regex,
    word: Regex,
}

#[expect(clippy::expect_used, reason = "the patterns are constants")]
fn patterns() -> &'static Patterns {
    static PATTERNS: OnceLock<Patterns> = OnceLock::new();
    PATTERNS.get_or_init(|| Patterns {
        name: Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").expect("a pattern"),
        word: Regex::new(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$").expect("a pattern"),
    })
}
