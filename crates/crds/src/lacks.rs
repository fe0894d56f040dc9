//! What the CRD of another deployment lacks of the one that our types were made for.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps, JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
};

/// One line for each thing that `found` lacks of `needed`; what it has besides does no harm.
pub fn lacks(needed: &CustomResourceDefinition, found: &CustomResourceDefinition) -> Vec<String> {
    let mut lines = Vec::new();
    if needed.spec.scope != found.spec.scope {
        lines.push(format!("its scope is {}, not {}", found.spec.scope, needed.spec.scope));
    }
    for wanted in &needed.spec.versions {
        match found.spec.versions.iter().find(|version| version.name == wanted.name && version.served) {
            Some(version) => lacks_of_version(wanted, version, &mut lines),
            None => lines.push(format!("it does not serve the version {}", wanted.name)),
        }
    }
    lines
}

fn lacks_of_version(
    needed: &CustomResourceDefinitionVersion,
    found: &CustomResourceDefinitionVersion,
    lines: &mut Vec<String>,
) {
    let has_status = |version: &CustomResourceDefinitionVersion| {
        version.subresources.as_ref().is_some_and(|subresources| subresources.status.is_some())
    };
    if has_status(needed) && !has_status(found) {
        lines.push("it has no subresource status".to_owned());
    }
    if let (Some(needed), Some(found)) = (schema(needed), schema(found)) {
        lacks_of_schema(needed, found, "", lines);
    }
}

fn schema(version: &CustomResourceDefinitionVersion) -> Option<&JSONSchemaProps> {
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

fn lacks_of_schema(needed: &JSONSchemaProps, found: &JSONSchemaProps, path: &str, lines: &mut Vec<String>) {
    if let (Some(wanted), Some(is)) = (&needed.type_, &found.type_)
        && wanted != is
    {
        lines.push(format!("{path} is of type {is}, not {wanted}"));
        return;
    }
    let keeps_all = found.x_kubernetes_preserve_unknown_fields == Some(true);
    for (name, wanted) in needed.properties.iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match found.properties.as_ref().and_then(|all| all.get(name)) {
            Some(is) => lacks_of_schema(wanted, is, &path, lines),
            None if keeps_all => {}
            None => lines.push(format!("it has no field {path}")),
        }
    }
    for (inner, suffix) in [(elements as Below, "[]"), (values as Below, ".*")] {
        if let (Some(needed), Some(found)) = (inner(needed), inner(found)) {
            lacks_of_schema(needed, found, &format!("{path}{suffix}"), lines);
        }
    }
}

type Below = fn(&JSONSchemaProps) -> Option<&JSONSchemaProps>;

fn elements(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(elements) => Some(elements),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn values(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::generate;

    fn hypervisor() -> CustomResourceDefinition {
        generate::of_others().into_iter().find(|crd| crd.spec.names.kind == "Hypervisor").unwrap()
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut json = serde_json::to_value(hypervisor()).unwrap();
        change(&mut json);
        lacks(&hypervisor(), &serde_json::from_value(json).unwrap())
    }

    const FIELDS: &str = "/spec/versions/0/schema/openAPIV3Schema/properties";

    fn fields<'v>(crd: &'v mut Value, path: &str) -> &'v mut Value {
        crd.pointer_mut(&format!("{FIELDS}{path}")).unwrap()
    }

    #[test]
    fn a_crd_that_has_more_lacks_nothing() {
        let more = |crd: &mut Value| fields(crd, "/spec/properties")["new"] = json!({ "type": "string" });
        assert_eq!((changed(|_| {}), changed(more)), (vec![], vec![]));
    }

    #[test]
    fn what_is_missing_is_named_with_its_path() {
        let missing = |path: &'static str, name: &'static str| {
            changed(|crd| drop(fields(crd, path).as_object_mut().unwrap().remove(name)))
        };
        assert_eq!(missing("", "status"), ["it has no field status"]);
        let instance = "/status/properties/instances/items/properties";
        assert_eq!(missing(instance, "active"), ["it has no field status.instances[].active"]);
        let text = |crd: &mut Value| *fields(crd, "/status/properties/numInstances/type") = json!("string");
        assert_eq!(changed(text), ["status.numInstances is of type string, not integer"]);
    }

    #[test]
    fn another_version_scope_or_no_subresource_is_named() {
        let at = |pointer: &'static str, value: Value| changed(|crd| *crd.pointer_mut(pointer).unwrap() = value);
        let unserved = ["it does not serve the version v1"];
        assert_eq!(at("/spec/versions/0/name", json!("v2")), unserved);
        assert_eq!(at("/spec/versions/0/served", json!(false)), unserved);
        assert_eq!(at("/spec/scope", json!("Namespaced")), ["its scope is Namespaced, not Cluster"]);
        assert_eq!(at("/spec/versions/0/subresources", json!({})), ["it has no subresource status"]);
    }
}
