//! The rules in CEL of a schema, evaluated on an object. A rule about the change is evaluated only where there was
//! something before; a value that did not change is not judged again.

use serde_json::Value;

use super::{Node, Path, Problem, Problems, Rule};
use crate::cel::Scope;

pub(super) fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, problems: &mut Problems) {
    if !node.has_rules || old == Some(value) || value.is_null() {
        return;
    }
    for rule in &node.rules {
        judge(rule, Scope { this: value, old, schema: node, optional_old: rule.optional_old }, path, problems);
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(child) = node.child(key) {
                    check(child, value, old.and_then(|old| old.get(key)), &Path::Field(path, key), problems);
                }
            }
        }
        Value::Array(all) => {
            for (at, value) in all.iter().enumerate() {
                if let Some(item) = node.item() {
                    check(item, value, same_element(node, value, old), &Path::Index(path, at), problems);
                }
            }
        }
        _ => {}
    }
}

fn judge(rule: &Rule, scope: Scope<'_>, path: &Path<'_>, problems: &mut Problems) {
    if rule.program.uses_old && scope.old.is_none() && !rule.optional_old {
        return;
    }
    let message = match rule.program.holds(scope) {
        Ok(true) => return,
        Ok(false) => match &rule.expression {
            Some(expression) => expression.text(scope).unwrap_or_else(|_| rule.message.clone()),
            None => rule.message.clone(),
        },
        Err(error) => format!("rule evaluation error: {error}"),
    };
    let shown = match scope.this {
        Value::Object(_) => "\"object\"".to_owned(),
        Value::Array(_) => "\"array\"".to_owned(),
        other => other.to_string(),
    };
    let text = format!("Invalid value: {shown}: {message}");
    match &rule.field {
        Some(steps) => problems.add(Problem::Invalid, &Path::Steps(path, steps), text),
        None => problems.add(Problem::Invalid, path, text),
    }
}

/// The element with the same keys in a list that is a map.
pub(super) fn same_element<'a>(node: &Node, value: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
    if node.keys.is_empty() {
        return None;
    }
    let same = |other: &&Value| node.keys.iter().all(|key| other.get(key) == value.get(key));
    old?.as_array()?.iter().find(same)
}
