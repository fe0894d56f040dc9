//! Pipeline: filters and weighers of a scheduler. Written by the deployment; Berth writes its conditions.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{schema, wire};

/// The steps of a scheduler, in order.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "Pipeline",
    plural = "pipelines",
    singular = "pipeline",
    status = "PipelineStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Pipeline is the list of filters and weighers that choose a host.",
    printcolumn(name = "Created", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Domain", type_ = "string", json_path = ".spec.schedulingDomain"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(
        name = "All Steps Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='AllStepsReady')].status"
    ),
    printcolumn(
        name = "All Steps Known",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='AllStepsIndexed')].status"
    ),
    printcolumn(
        name = "Pipeline Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct PipelineSpec {
    /// Scheduling domain; only pipelines of nova are loaded.
    pub scheduling_domain: String,
    /// Text for people.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Replace the hosts of the request by all hypervisors.
    #[serde(default)]
    pub ignore_preselection: bool,
    /// Kind of pipeline; only filter-weigher is loaded.
    #[serde(rename = "type")]
    pub type_: PipelineType,
    /// Filters in the order of execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<PipelineStep>,
    /// Weighers in the order of application.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighers: Vec<PipelineWeigher>,
    /// Detectors; empty for filter-weigher.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detectors: Vec<PipelineStep>,
}

/// What a pipeline consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PipelineType {
    /// Filters and weighers: chooses a host.
    #[default]
    FilterWeigher,
    /// Detectors: finds VMs that should move. Not loaded.
    Detector,
}

/// A filter or a detector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineStep {
    /// Name of the step.
    pub name: String,
    /// Parameters; together they form one flat object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<PipelineParameter>,
    /// Text for people.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A weigher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineWeigher {
    /// Name of the step.
    pub name: String,
    /// Parameters; together they form one flat object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<PipelineParameter>,
    /// Text for people.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Factor of the weights; absent means 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::number")]
    pub multiplier: Option<f64>,
}

/// A parameter of a step: a key and exactly one value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineParameter {
    /// Name of the parameter.
    pub key: String,
    /// A text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string_value: Option<String>,
    /// True or false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bool_value: Option<bool>,
    /// A whole number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int_value: Option<i64>,
    /// A number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::number")]
    pub float_value: Option<f64>,
    /// A list of texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string_list_value: Option<Vec<String>>,
    /// Numbers by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::map_of_numbers")]
    pub float_map_value: Option<BTreeMap<String, f64>>,
}

/// Whether the pipeline is loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineStatus {
    /// The conditions Ready, `AllStepsReady` and `AllStepsIndexed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
