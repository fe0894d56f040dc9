//! Reads the problem of an object from the response of an API server: the field, its value and the expected value.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use kube::core::Status;
use kube::core::response::StatusCause;
use serde_json::Value;

const SHOWN: usize = 80;

/// One field of an object that a rule refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub field: String,
    /// The value that was found, as JSON; empty if there is none.
    pub found: String,
    pub expected: String,
}

/// The faults that a refusal names; at least one.
pub(super) fn read_faults(object: &DynamicObject, status: &Status) -> Vec<Fault> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let faults: Vec<_> = causes.map(|cause| describe_cause(object, cause)).collect();
    if faults.is_empty() { vec![unnamed(&status.message)] } else { faults }
}

fn unnamed(message: &str) -> Fault {
    Fault { field: String::new(), found: String::new(), expected: message.to_owned() }
}

fn describe_cause(object: &DynamicObject, cause: &StatusCause) -> Fault {
    // The only rules of ours about an object as a whole are those about its name.
    let whole = ["", "<nil>"].contains(&cause.field.as_str());
    let field = if whole { "metadata.name".to_owned() } else { cause.field.clone() };
    let found = if field == "metadata.name" {
        object.metadata.name.as_ref().map(|name| Value::from(name.as_str()))
    } else {
        find_value(&object.data, &field).cloned()
    };
    Fault { found: found.map(|value| cut(&value.to_string())).unwrap_or_default(), field, expected: expected(cause) }
}

/// The words of the rule, without the value that the API server puts before them.
fn expected(cause: &StatusCause) -> String {
    let message = cause.message.as_str();
    let Some((kind, rest)) = message.split_once(": ").filter(|(kind, _)| kind.ends_with(" value")) else {
        return message.to_owned();
    };
    let words = rest.strip_prefix('"').map_or_else(|| Some(skip_value(rest)), skip_text);
    match words {
        Some(words) if kind == "Invalid value" => words.to_owned(),
        Some(words) => format!("{kind}; {words}"),
        None => message.to_owned(),
    }
}

/// The text after a value that is not a string. If the server omits the value, this is the whole text.
fn skip_value(rest: &str) -> &str {
    let value = rest.split_once(": ").filter(|(value, _)| serde_json::from_str::<Value>(value).is_ok());
    value.map_or(rest, |(_, words)| words)
}

/// The text after a quoted string, in which quotes and backslashes are escaped.
fn skip_text(text: &str) -> Option<&str> {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    text[end + 1..].strip_prefix(": ")
}

/// The value at a field such as `spec.groups[0].trait` or `spec.quota[key]`.
fn find_value<'v>(data: &'v Value, field: &str) -> Option<&'v Value> {
    let mut steps = field.split(['.', '[', ']']).filter(|step| !step.is_empty());
    steps.try_fold(data, |value, step| value.get(step).or_else(|| value.get(step.parse::<usize>().ok()?)))
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

/// Several conditions of one type, which no rule of creation sees, because creation ignores the status.
pub(super) fn find_status_fault(data: &Value) -> Option<Fault> {
    let mut counts = BTreeMap::new();
    for condition in data["status"]["conditions"].as_array().into_iter().flatten() {
        *counts.entry(condition["type"].as_str().unwrap_or_default()).or_insert(0) += 1;
    }
    let (type_, count) = counts.into_iter().find(|(_, count)| *count > 1)?;
    Some(Fault {
        field: "status.conditions".to_owned(),
        found: format!("{count} of the type {type_}"),
        expected: "there is one condition of each type".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cause(field: &str, message: &str) -> Fault {
        let object = json!({ "metadata": { "name": "n" }, "spec": { "a": ["x", { "b.c": 1 }], "quota": { "k": -1 } } });
        let cause = StatusCause { reason: String::new(), message: message.to_owned(), field: field.to_owned() };
        describe_cause(&serde_json::from_value(object).unwrap(), &cause)
    }

    fn fault(field: &str, found: &str, expected: &str) -> Fault {
        Fault { field: field.to_owned(), found: found.to_owned(), expected: expected.to_owned() }
    }

    #[test]
    fn a_fault_has_the_value_of_the_object_and_the_words_of_the_rule() {
        for (field, message, found, expected) in [
            ("spec.quota.k", "Invalid value: -1: should be greater than 0", "-1", "should be greater than 0"),
            ("spec.quota[k]", "Invalid value: -1: no", "-1", "no"),
            ("spec.a[0]", r#"Invalid value: "x \" : y": a: b"#, "\"x\"", "a: b"),
            (
                "spec.a[0]",
                r#"Unsupported value: "x": supported values: "y""#,
                "\"x\"",
                r#"Unsupported value; supported values: "y""#,
            ),
            ("spec.z", "Invalid value: must be a: b", "", "must be a: b"),
            ("spec.z", "Required value", "", "Required value"),
            ("spec", "something else", r#"{"a":["x",{"b.c":1}],"quota":{"k":-1}}"#, "something else"),
        ] {
            assert_eq!(cause(field, message), fault(field, found, expected));
        }
        let name = cause("<nil>", r#"Invalid value: "object": metadata.name is n, but must be m"#);
        assert_eq!(name, fault("metadata.name", "\"n\"", "metadata.name is n, but must be m"));
    }

    #[test]
    fn two_conditions_of_a_type_are_a_fault() {
        let with = |types: &[&str]| {
            let conditions: Vec<_> = types.iter().map(|type_| json!({ "type": type_ })).collect();
            find_status_fault(&json!({ "status": { "conditions": conditions } })).map(|fault| fault.found)
        };
        assert_eq!(with(&["Ready", "Other"]), None);
        assert_eq!(with(&["Other", "Ready", "Ready"]).as_deref(), Some("2 of the type Ready"));
        assert_eq!(find_status_fault(&json!({})), None);
    }
}
