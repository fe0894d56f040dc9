//! `values.yaml` and `values.schema.json` name the same values, and the schema admits no others.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Error, checkout};

/// What every chart may be given by one that includes it.
const OF_PARENTS: &str = ".global";

/// The paths that a schema names, and those whose members it leaves open.
#[derive(Default)]
struct Named {
    paths: BTreeSet<String>,
    open: BTreeSet<String>,
    problems: Vec<String>,
}

/// What differs between the two.
pub fn problems() -> Result<Vec<String>, Error> {
    let chart = checkout::chart();
    let yaml = checkout::read(&chart.join("values.yaml"))?;
    let values: Value = serde_saphyr::from_str(&yaml)
        .map_err(|source| Error::Yaml { what: "values.yaml".to_owned(), source: Box::new(source) })?;
    let path = chart.join("values.schema.json");
    let schema: Value = serde_json::from_str(&checkout::read(&path)?).map_err(|source| Error::Json { path, source })?;
    Ok(differences(&values, &schema))
}

fn differences(values: &Value, schema: &Value) -> Vec<String> {
    let mut named = Named::default();
    named.add(schema, schema, String::new());
    let mut of_values = BTreeSet::new();
    list(values, String::new(), &named.open, &mut of_values);
    named.paths.remove(OF_PARENTS);
    let differing = of_values.symmetric_difference(&named.paths);
    let differing = differing.map(|path| format!("{path} is in only one of values.yaml and values.schema.json"));
    differing.chain(named.problems).collect()
}

fn list(value: &Value, path: String, open: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    let members = value.as_object().filter(|_| !open.contains(&path));
    for (name, member) in members.into_iter().flatten() {
        list(member, format!("{path}.{name}"), open, found);
    }
    found.insert(path);
}

impl Named {
    fn add(&mut self, root: &Value, schema: &Value, path: String) {
        let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.trim_start_matches('#')));
        let schema = target.unwrap_or(schema);
        let members = schema["properties"].as_object();
        if members.is_some() && schema["additionalProperties"].is_null() {
            self.problems.push(format!("{path} says nothing about additionalProperties in values.schema.json"));
        }
        for (name, member) in members.into_iter().flatten() {
            self.add(root, member, format!("{path}.{name}"));
        }
        if members.is_none() {
            self.open.insert(path.clone());
        }
        self.paths.insert(path);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_only_one_of_them_has_are_found() {
        let schema = |closed: bool| {
            json!({
                "properties": { "a": { "type": "string" }, "b": { "$ref": "#/$defs/b" } },
                "additionalProperties": closed.then_some(false),
                "$defs": { "b": { "type": "object" } },
            })
        };
        assert_eq!(differences(&json!({ "a": "", "b": { "c": 1 } }), &schema(true)), [] as [String; 0]);
        assert_eq!(differences(&json!({ "a": "", "b": {}, "d": 1 }), &schema(true)).len(), 1);
        assert_eq!(differences(&json!({ "a": "" }), &schema(true)).len(), 1);
        assert_eq!(differences(&json!({ "a": "", "b": {} }), &schema(false)).len(), 1);
    }
}
