//! The validation of objects by their schema. A value that an update leaves unchanged is not checked again, whatever is
//! wrong with it.

use serde_json::{Map, Value};

use super::rules::{self, same_element};
use super::{Format, Node, Path, Problems, SchemaProblem, Type};

/// All problems of an object, compared with its old version, besides the known ones.
pub(crate) fn check(root: &Node, object: &Value, old: Option<&Value>, mut problems: Problems) -> Problems {
    object_of(root, object, old, &Path::Root, &mut problems);
    if duplicates(root, object) && !old.is_some_and(|old| duplicates(root, old)) {
        name_duplicates(root, object, &Path::Root, &mut problems);
    }
    if root.has_rules && problems.block_rules() {
        let text = "Invalid value: \"null\": some validation rules were not checked because the object was invalid; \
                    correct the existing errors to complete validation";
        problems.add(SchemaProblem::Invalid, &Path::Root, text);
    } else {
        rules::check(root, object, old, &Path::Root, &mut problems);
    }
    problems
}

/// The names of types in errors.
fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Object => "object",
        Type::Array => "array",
        Type::Text => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Bool => "boolean",
        Type::IntOrString => "integer,string",
        Type::Any => "any",
    }
}

fn fits(kind: Type, value: &Value) -> bool {
    let whole = || value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    match kind {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::Text => value.is_string(),
        Type::Integer => whole(),
        Type::Number => value.is_number(),
        Type::Bool => value.is_boolean(),
        Type::IntOrString => value.is_string() || whole(),
        Type::Any => true,
    }
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn any(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, problems: &mut Problems) {
    if old == Some(value) || (value.is_null() && node.nullable) {
        return;
    }
    if !fits(node.kind, value) {
        let (is, wanted) = (shape(value), type_name(node.kind));
        let text = format!("Invalid value: \"{is}\": {path} in body must be of type {wanted}: \"{is}\"");
        problems.add(SchemaProblem::WrongType, path, text);
        if node.kind == Type::Integer && value.is_f64() {
            // The format is checked separately.
            let text =
                format!("Invalid value: \"\": Checked value must be of type integer with format int64 in {path}");
            problems.add(SchemaProblem::Invalid, &Path::Root, text);
        }
        if node.kind == Type::IntOrString {
            // Reported three times, once for each way to parse the schema.
            let text = format!("Invalid value: \"\": \"{path}\" must validate at least one schema (anyOf)");
            problems.add(SchemaProblem::Invalid, &Path::Root, text);
            let text = format!("Invalid value: \"{is}\": {path} in body must be of type integer: \"{is}\"");
            problems.add(SchemaProblem::WrongType, path, text);
        }
        return;
    }
    if !node.choices.is_empty() && !node.choices.contains(value) {
        let known: Vec<_> = node.choices.iter().map(Value::to_string).collect();
        let text = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        problems.add(SchemaProblem::NotSupported, path, text);
    }
    match value {
        Value::String(text) => text_of(node, text, path, problems),
        Value::Number(_) => number_of(node, value, path, problems),
        Value::Array(all) => {
            count_of(node, all.len() as u64, path, problems);
            for (at, value) in all.iter().enumerate() {
                if let Some(item) = node.item() {
                    any(item, value, same_element(node, value, old), &Path::Index(path, at), problems);
                }
            }
        }
        Value::Object(_) => object_of(node, value, old, path, problems),
        Value::Null | Value::Bool(_) => {}
    }
}

fn count_of(node: &Node, count: u64, path: &Path<'_>, problems: &mut Problems) {
    if let Some(most) = node.max_items.filter(|most| count > *most) {
        let text = format!("Too many: {count}: must have at most {most} items");
        problems.add(SchemaProblem::TooMany, path, text);
    }
    if let Some(least) = node.min_items.filter(|least| count < *least) {
        let text = format!("Invalid value: {count}: {path} in body should have at least {least} items");
        problems.add(SchemaProblem::Invalid, path, text);
    }
}

fn object_of(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, problems: &mut Problems) {
    let Some(fields) = value.as_object() else { return };
    for field in node.required.iter().filter(|field| !fields.contains_key(*field)) {
        problems.add(SchemaProblem::Required, &Path::Field(path, field), "Required value");
    }
    if let Some(most) = node.max_properties.filter(|most| fields.len() as u64 > *most) {
        let text = format!("Too many: {}: must have at most {most} items", fields.len());
        problems.add(SchemaProblem::TooMany, path, text);
    }
    let before = |key: &str| old.and_then(|old| old.get(key));
    for (key, value) in fields {
        if let Some(child) = node.properties.get(key) {
            any(child, value, before(key), &Path::Field(path, key), problems);
        } else if let Some(child) = &node.additional {
            any(child, value, before(key), &Path::Key(path, key), problems);
        }
    }
}

fn text_of(node: &Node, text: &str, path: &Path<'_>, problems: &mut Problems) {
    let length = text.chars().count() as u64;
    if let Some(most) = node.max_length.filter(|most| length > *most) {
        problems.add(SchemaProblem::TooLong, path, format!("Too long: may not be more than {most} bytes"));
    }
    if let Some(least) = node.min_length.filter(|least| length < *least) {
        let text = format!("Invalid value: {text:?}: {path} in body should be at least {least} chars long");
        problems.add(SchemaProblem::Invalid, path, text);
    }
    if let Some(pattern) = node.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
        let text = format!("Invalid value: {text:?}: {path} in body should match '{pattern}'");
        problems.add(SchemaProblem::Invalid, path, text);
    }
    if node.format == Some(Format::DateTime) && crate::cel::time(text).is_none() {
        let text = format!("Invalid value: {text:?}: {path} in body must be of type date-time: {text:?}");
        problems.add(SchemaProblem::WrongType, path, text);
    }
}

fn number_of(node: &Node, value: &Value, path: &Path<'_>, problems: &mut Problems) {
    let Some(number) = value.as_f64() else { return };
    if let Some(least) = node.minimum.filter(|least| number < *least) {
        let text = format!("Invalid value: {value}: {path} in body should be greater than or equal to {least}");
        problems.add(SchemaProblem::Invalid, path, text);
    }
    if let Some(most) = node.maximum.filter(|most| number > *most) {
        let text = format!("Invalid value: {value}: {path} in body should be less than or equal to {most}");
        problems.add(SchemaProblem::Invalid, path, text);
    }
    let whole = match node.format {
        Some(Format::Int32) => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Some(Format::Int64) => value.as_i64().is_some() || number.fract() == 0.0,
        Some(Format::DateTime) | None => true,
    };
    if !whole {
        problems.add(
            SchemaProblem::Invalid,
            path,
            format!("Invalid value: {value}: {path} in body must fit its format"),
        );
    }
}

fn duplicates(root: &Node, object: &Value) -> bool {
    let mut found = Problems::default();
    name_duplicates(root, object, &Path::Root, &mut found);
    !found.is_empty()
}

fn name_duplicates(node: &Node, value: &Value, path: &Path<'_>, problems: &mut Problems) {
    match value {
        Value::Array(all) if !node.keys.is_empty() => {
            for (at, element) in all.iter().enumerate() {
                let keys = keys_of(node, element);
                if all[..at].iter().any(|other| keys_of(node, other) == keys) {
                    let text = format!("Duplicate value: {}", Value::Object(keys));
                    problems.add(SchemaProblem::Duplicate, &Path::Index(path, at), text);
                }
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(child) = node.child(key).filter(|_| value.is_object() || value.is_array()) {
                    name_duplicates(child, value, &Path::Field(path, key), problems);
                }
            }
        }
        _ => {}
    }
}

fn keys_of(node: &Node, element: &Value) -> Map<String, Value> {
    let pair = |key: &String| element.get(key).map(|value| (key.clone(), value.clone()));
    node.keys.iter().filter_map(pair).collect()
}
