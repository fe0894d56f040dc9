//! Knowledge: a derived data set with its content in the status. Berth reads the object `flavor-groups` and writes
//! none.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Duration, ObjectReference, schema};

/// What is to be extracted, and how fresh it has to be. Written by the deployment.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "Knowledge",
    plural = "knowledges",
    singular = "knowledge",
    status = "KnowledgeStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Knowledge is a data set derived from other data, with its content in the status.",
    printcolumn(name = "Domain", type_ = "string", json_path = ".spec.schedulingDomain"),
    printcolumn(name = "Created", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Extracted", type_ = "date", json_path = ".status.lastExtracted"),
    printcolumn(name = "Changed", type_ = "date", json_path = ".status.lastContentChange"),
    printcolumn(name = "Recency", type_ = "string", json_path = ".spec.recency"),
    printcolumn(name = "Features", type_ = "integer", json_path = ".status.rawLength"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status")
)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeSpec {
    /// Scheduling domain, nova for flavor-groups.
    pub scheduling_domain: String,
    /// What fills the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extractor: Option<KnowledgeExtractor>,
    /// How old the content may get.
    #[serde(default = "default_recency")]
    pub recency: Duration,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the extractor needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<KnowledgeDependencies>,
}

fn default_recency() -> Duration {
    "60s".into()
}

/// The program that fills the status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnowledgeExtractor {
    /// Name of the extractor, `flavor_groups` for the object that Berth reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Options of the extractor, free-form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::free_form")]
    pub config: Option<Value>,
}

/// What an extractor needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnowledgeDependencies {
    /// Datasources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datasources: Vec<ObjectReference>,
    /// Other Knowledge objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledges: Vec<ObjectReference>,
}

/// The data set. Written by the knowledge controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeStatus {
    /// Last successful extraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_extracted: Option<Time>,
    /// Last extraction whose content differed. Its UNIX time in seconds is the LIQUID info version, -1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_content_change: Option<Time>,
    /// The content, free-form. For flavor-groups it is `{"features": [...]}` with flavor groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::free_form")]
    pub raw: Option<Value>,
    /// Number of features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::plain_integer")]
    pub raw_length: Option<i64>,
    /// The condition Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
