//! The served kinds: those of our CRDs, and Leases, Events and `ConfigMaps`, which are namespaced and built into the API
//! server.

use std::sync::{Arc, OnceLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::schema::Node;

/// A kind that can be served.
#[derive(Debug)]
pub(crate) struct KindInfo {
    pub(crate) path: String,
    pub(crate) group: String,
    /// `cortex.cloud/v1alpha1`.
    pub(crate) group_version: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) namespaced: bool,
    pub(crate) status: bool,
    /// Whether it comes from a CRD: generations are counted.
    pub(crate) custom: bool,
    /// Fields that a list can select by, besides the name and the namespace, each with its JSON pointer.
    pub(crate) selectable: Vec<(String, String)>,
    pub(crate) schema: Node,
}

impl KindInfo {
    pub(crate) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    fn custom(crd: &CustomResourceDefinition) -> Result<Self, String> {
        let (group, names) = (crd.spec.group.clone(), &crd.spec.names);
        let version = crd.spec.versions.first().ok_or("there is no version")?;
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let schema = serde_json::to_value(schema).map_err(|error| error.to_string())?;
        let field = |path: &str| (path.trim_start_matches('.').to_owned(), path.replace('.', "/"));
        let selectable = version.selectable_fields.iter().flatten().map(|one| field(&one.json_path)).collect();
        Ok(Self {
            path: format!("/apis/{group}/{}/{}", version.name, names.plural),
            group_version: format!("{group}/{}", version.name),
            group,
            version: version.name.clone(),
            plural: names.plural.clone(),
            singular: names.singular.clone().unwrap_or_else(|| names.kind.to_lowercase()),
            kind: names.kind.clone(),
            list_kind: names.list_kind.clone().unwrap_or_else(|| format!("{}List", names.kind)),
            namespaced: crd.spec.scope == "Namespaced",
            status: version.subresources.as_ref().is_some_and(|all| all.status.is_some()),
            custom: true,
            selectable,
            schema: Node::compile(&schema)?,
        })
    }

    fn built_in(group: &str, kind: &str, schema: &Value) -> Result<Self, String> {
        let singular = kind.to_lowercase();
        let plural = format!("{singular}s");
        let (root, group_version) =
            if group.is_empty() { ("api", "v1".to_owned()) } else { ("apis", format!("{group}/v1")) };
        Ok(Self {
            path: format!("/{root}/{group_version}/{plural}"),
            group_version,
            group: group.to_owned(),
            version: "v1".to_owned(),
            plural,
            singular,
            kind: kind.to_owned(),
            list_kind: format!("{kind}List"),
            namespaced: true,
            status: false,
            custom: false,
            selectable: Vec::new(),
            schema: Node::compile(schema)?,
        })
    }
}

/// All kinds that a server has at the start, or the part of a schema or a rule that is not supported. Built once.
pub(crate) fn all() -> Result<&'static [Arc<KindInfo>], String> {
    static ALL: OnceLock<Result<Vec<Arc<KindInfo>>, String>> = OnceLock::new();
    ALL.get_or_init(made).as_deref().map_err(Clone::clone)
}

/// Kinds that a server does not have at the start: our optional ones.
pub(crate) fn optional() -> Result<Vec<Arc<KindInfo>>, String> {
    custom(&berth_crds::generate::optional())
}

fn custom(crds: &[CustomResourceDefinition]) -> Result<Vec<Arc<KindInfo>>, String> {
    let kind = |crd: &CustomResourceDefinition| {
        KindInfo::custom(crd).map(Arc::new).map_err(|problem| format!("{}: {problem}", crd.spec.names.kind))
    };
    crds.iter().map(kind).collect()
}

fn made() -> Result<Vec<Arc<KindInfo>>, String> {
    let mut kinds = custom(&berth_crds::generate::all())?;
    kinds.push(Arc::new(KindInfo::built_in("coordination.k8s.io", "Lease", &lease())?));
    kinds.push(Arc::new(KindInfo::built_in("events.k8s.io", "Event", &event())?));
    kinds.push(Arc::new(KindInfo::built_in("", "ConfigMap", &config_map())?));
    Ok(kinds)
}

fn lease() -> Value {
    let (text, time) = (json!({ "type": "string" }), json!({ "type": "string", "format": "date-time" }));
    let count = |least: i32| json!({ "type": "integer", "format": "int32", "minimum": least });
    json!({ "type": "object", "properties": { "spec": { "type": "object", "default": {}, "properties": {
        "holderIdentity": text, "leaseDurationSeconds": count(1), "leaseTransitions": count(0),
        "acquireTime": time, "renewTime": time, "preferredHolder": text, "strategy": text,
    } } } })
}

fn config_map() -> Value {
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    json!({ "type": "object", "properties": { "data": texts, "binaryData": texts, "immutable": { "type": "boolean" } } })
}

fn event() -> Value {
    let text = |most: u32| json!({ "type": "string", "maxLength": most });
    let needed = |most: u32| json!({ "type": "string", "minLength": 1, "maxLength": most });
    let time = json!({ "type": "string", "format": "date-time" });
    let object = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let count = json!({ "type": "integer", "format": "int32", "minimum": 2 });
    json!({ "type": "object",
        "required": ["eventTime", "reportingController", "reportingInstance", "action", "reason", "type"],
        "properties": {
            "eventTime": time, "reportingController": needed(253), "reportingInstance": needed(128),
            "action": needed(128), "reason": needed(128), "note": text(1024),
            "type": { "type": "string", "enum": ["Normal", "Warning"] }, "regarding": object, "related": object,
            "series": { "type": "object", "required": ["count", "lastObservedTime"],
                        "properties": { "count": count, "lastObservedTime": time } },
            "deprecatedSource": object, "deprecatedFirstTimestamp": time, "deprecatedLastTimestamp": time,
            "deprecatedCount": { "type": "integer" },
        } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_our_crds_is_evaluated() {
        let written = serde_json::to_string(&berth_crds::generate::all()).unwrap().matches("\"rule\":").count();
        let compiled: usize = all().unwrap().iter().map(|kind| kind.schema.rules()).sum();
        assert!(written > 20, "{written}");
        assert_eq!(written, compiled);
    }
}
