//! JSON schemas of the kinds of Kubernetes, for kubeconform, made from the API document in the Go module of the control plane:
//! nothing is fetched from a collection of schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::{Error, checkout, program};

const DEFINITIONS: &str = "#/definitions/";

/// The definitions of one release of Kubernetes.
pub struct Schemas(Map<String, Value>);

impl Schemas {
    /// Reads them from Go's cache of modules, which is filled if need be.
    pub fn read() -> Result<Self, Error> {
        let path = module()?.join("api/openapi-spec/swagger.json");
        let text = checkout::read(&path)?;
        let mut document: Value =
            serde_json::from_str(&text).map_err(|source| Error::Json { path: path.clone(), source })?;
        match document["definitions"].take() {
            Value::Object(definitions) => Ok(Self(definitions)),
            _ => Err(Error::Problems(vec![format!("{} has no definitions", path.display())])),
        }
    }

    /// Writes one file for each kind, with the name that kubeconform derives from group, version and kind.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        for (definition, value) in &self.0 {
            for kind in value["x-kubernetes-group-version-kind"].as_array().into_iter().flatten() {
                let path = folder.join(file_name(kind));
                let schema = self.schema(definition, kind).to_string();
                fs::write(&path, schema).map_err(Error::file("write", &path))?;
            }
        }
        Ok(())
    }

    /// A schema with everything that it refers to, which refuses unknown fields.
    fn schema(&self, root: &str, kind: &Value) -> Value {
        let (mut found, mut open) = (BTreeMap::new(), BTreeSet::from([root.to_owned()]));
        while let Some(name) = open.pop_first() {
            let definition = strict(self.0.get(&name).cloned().unwrap_or_default(), &name);
            collect(&definition, &mut |reference| {
                if !found.contains_key(reference) && reference != name {
                    open.insert(reference.to_owned());
                }
            });
            found.insert(name, definition);
        }
        if let Some(fields) = found.get_mut(root).and_then(|root| root["properties"].as_object_mut()) {
            fields.insert("kind".to_owned(), json!({ "enum": [kind["kind"]] }));
        }
        json!({ "$ref": format!("{DEFINITIONS}{root}"), "definitions": found })
    }
}

/// The folder of the module `k8s.io/kubernetes`, in the version that the control plane is built from.
fn module() -> Result<PathBuf, Error> {
    let mut go = Command::new("go");
    go.args(["mod", "download", "-json", "k8s.io/kubernetes"]).env("GOWORK", "off");
    let printed = program::text(go.current_dir(checkout::root().join("e2e/control-plane/go")))?;
    let path = PathBuf::from("the answer of go mod download");
    let module: Value = serde_json::from_str(&printed).map_err(|source| Error::Json { path, source })?;
    Ok(PathBuf::from(module["Dir"].as_str().unwrap_or_default()))
}

/// For example `deployment-apps-v1.json`: of a group only the first word counts.
fn file_name(kind: &Value) -> String {
    let text = |name: &str| kind[name].as_str().unwrap_or_default().to_lowercase();
    let group = text("group").split('.').next().unwrap_or_default().to_owned();
    let group = if group.is_empty() { group } else { format!("-{group}") };
    format!("{}{group}-{}.json", text("kind"), text("version"))
}

/// Calls `visit` with the name of every definition that is referred to.
fn collect(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            if let Some(name) = members.get("$ref").and_then(Value::as_str) {
                visit(name.trim_start_matches(DEFINITIONS));
            }
            members.values().for_each(|member| collect(member, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, visit)),
        _ => {}
    }
}

/// Refuses unknown fields, and takes numbers where Kubernetes does although the document says string.
fn strict(mut definition: Value, name: &str) -> Value {
    match name.rsplit('.').next().unwrap_or_default() {
        "IntOrString" | "Quantity" => return json!({ "type": ["string", "number"] }),
        // Any value: the document calls them objects without fields.
        "JSON" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
            return json!({});
        }
        _ => {}
    }
    if definition["properties"].is_object() && definition["additionalProperties"].is_null() {
        definition["additionalProperties"] = Value::Bool(false);
    }
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_all_that_it_refers_to_and_refuses_other_fields() {
        let definitions = json!({
            "a.Pod": { "type": "object", "properties": { "kind": { "type": "string" }, "spec": { "$ref": "#/definitions/a.Spec" } } },
            "a.Spec": { "type": "object", "properties": { "port": { "$ref": "#/definitions/a.IntOrString" } } },
            "a.IntOrString": { "type": "string" },
            "a.Other": {},
        });
        let Value::Object(definitions) = definitions else { panic!("not a map") };
        let schema = Schemas(definitions).schema("a.Pod", &json!({ "kind": "Pod" }));
        let known: Vec<_> = schema["definitions"].as_object().unwrap().keys().collect();
        assert_eq!(known, ["a.IntOrString", "a.Pod", "a.Spec"]);
        assert_eq!(schema["definitions"]["a.Spec"]["additionalProperties"], false);
        assert_eq!(schema["definitions"]["a.Pod"]["properties"]["kind"], json!({ "enum": ["Pod"] }));
    }

    #[test]
    fn files_have_the_names_that_kubeconform_expects() {
        let name = |group: &str, kind: &str| file_name(&json!({ "group": group, "version": "v1", "kind": kind }));
        assert_eq!(name("", "Service"), "service-v1.json");
        assert_eq!(name("rbac.authorization.k8s.io", "Role"), "role-rbac-v1.json");
    }
}
