//! The CEL rules of a schema, evaluated on an object. A transition rule is evaluated only where there was an old value;
//! an unchanged value is not checked again.

use serde_json::Value;

use super::{Node, Path, Problems, Rule, SchemaProblem};
use crate::cel::Scope;

pub(super) fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, problems: &mut Problems) {
    if !node.has_rules || old == Some(value) || value.is_null() {
        return;
    }
    for rule in &node.rules {
        check_rule(rule, Scope { this: value, old, schema: node, optional_old: rule.optional_old }, path, problems);
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

fn check_rule(rule: &Rule, scope: Scope<'_>, path: &Path<'_>, problems: &mut Problems) {
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
        Some(steps) => problems.add(SchemaProblem::Invalid, &Path::Steps(path, steps), text),
        None => problems.add(SchemaProblem::Invalid, path, text),
    }
}

/// The element with the same keys in a list of type `map`.
pub(super) fn same_element<'a>(node: &Node, value: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
    if node.keys.is_empty() {
        return None;
    }
    let same = |other: &&Value| node.keys.iter().all(|key| other.get(key) == value.get(key));
    old?.as_array()?.iter().find(same)
}
