//! `values.yaml` and `values.schema.json` name the same values, and the schema admits no others.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Error, checkout};

/// Values whose members are not ours to list.
const FREE: [&str; 2] = [".config", ".placement.config"];

/// What differs between the two.
pub fn problems() -> Result<Vec<String>, Error> {
    let chart = checkout::chart();
    let yaml = checkout::read(&chart.join("values.yaml"))?;
    let values: Value = serde_saphyr::from_str(&yaml)
        .map_err(|source| Error::Yaml { what: "values.yaml".to_owned(), source: Box::new(source) })?;
    let path = chart.join("values.schema.json");
    let schema: Value = serde_json::from_str(&checkout::read(&path)?).map_err(|source| Error::Json { path, source })?;
    let (mut of_values, mut of_schema, mut found) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    list_values(&values, String::new(), &mut of_values);
    list_schema(&schema, &schema, String::new(), &mut of_schema, &mut found);
    let differing = of_values.symmetric_difference(&of_schema);
    found.extend(differing.map(|path| format!("{path} is in only one of values.yaml and values.schema.json")));
    Ok(found)
}

fn list_values(value: &Value, path: String, found: &mut BTreeSet<String>) {
    let members = value.as_object().filter(|_| !FREE.contains(&path.as_str()));
    for (name, member) in members.into_iter().flatten() {
        list_values(member, format!("{path}.{name}"), found);
    }
    found.insert(path);
}

fn list_schema(root: &Value, schema: &Value, path: String, found: &mut BTreeSet<String>, loose: &mut Vec<String>) {
    let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.trim_start_matches('#')));
    let schema = target.unwrap_or(schema);
    let members = schema["properties"].as_object().filter(|_| !FREE.contains(&path.as_str()));
    if members.is_some() && schema["additionalProperties"].is_null() {
        loose.push(format!("{path} has no additionalProperties in values.schema.json"));
    }
    for (name, member) in members.into_iter().flatten() {
        list_schema(root, member, format!("{path}.{name}"), found, loose);
    }
    found.insert(path);
}
