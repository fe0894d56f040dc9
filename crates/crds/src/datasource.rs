//! Datasource: an external data set that is copied into a database. Berth reads `spec.databaseSecretRef` of one object
//! and writes none.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Duration, SecretReference, schema};

/// What is copied, from where and into which database. Written by the deployment.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "Datasource",
    plural = "datasources",
    singular = "datasource",
    status = "DatasourceStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Datasource is an external data set that is copied into a database.",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Domain", type_ = "string", json_path = ".spec.schedulingDomain"),
    printcolumn(name = "Created", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Synced", type_ = "date", json_path = ".status.lastSynced"),
    printcolumn(name = "Next", type_ = "string", json_path = ".status.nextSyncTime"),
    printcolumn(name = "Objects", type_ = "integer", json_path = ".status.numberOfObjects"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status")
)]
#[serde(rename_all = "camelCase")]
pub struct DatasourceSpec {
    /// Scheduling domain, nova.
    pub scheduling_domain: String,
    /// Kind of source: openstack or prometheus.
    #[serde(rename = "type")]
    pub type_: String,
    /// Secret with the credentials of the database: host, port, user, password and database.
    pub database_secret_ref: SecretReference,
    /// Secret with a client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sso_secret_ref: Option<SecretReference>,
    /// Used when type is openstack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openstack: Option<OpenStackDatasource>,
    /// Used when type is prometheus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusDatasource>,
}

/// A data set of an OpenStack service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackDatasource {
    /// Service: nova, placement, manila, identity, limes or cinder.
    #[serde(rename = "type")]
    pub type_: String,
    /// Time between two copies.
    #[serde(default = "default_sync_interval")]
    pub sync_interval: Duration,
    /// Secret with the Keystone credentials.
    pub secret_ref: SecretReference,
    /// Data set of Nova.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nova: Option<NovaDatasource>,
    /// Data set of Placement: resourceProviders, resourceProviderInventoryUsages or resourceProviderTraits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<TypedDatasource>,
    /// Data set of Manila: storagePools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manila: Option<TypedDatasource>,
    /// Data set of Keystone: projects or domains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<TypedDatasource>,
    /// Data set of Limes: projectCommitments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limes: Option<TypedDatasource>,
    /// Data set of Cinder: storagePools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cinder: Option<TypedDatasource>,
}

fn default_sync_interval() -> Duration {
    "600s".into()
}

/// A data set of Nova.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NovaDatasource {
    /// Data set: servers, deletedServers, hypervisors, flavors, migrations or aggregates.
    #[serde(rename = "type")]
    pub type_: String,
    /// How far back deleted servers are listed, in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::plain_integer")]
    pub deleted_servers_changes_since_minutes: Option<i64>,
}

/// A data set of a service that has no further options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TypedDatasource {
    /// Name of the data set.
    #[serde(rename = "type")]
    pub type_: String,
}

/// A metric of Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrometheusDatasource {
    /// Query.
    pub query: String,
    /// Alias of the table.
    pub alias: String,
    /// Model of the metric.
    #[serde(rename = "type")]
    pub type_: String,
    /// How far back to read.
    #[serde(default = "default_time_range")]
    pub time_range: Duration,
    /// Length of one query.
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// Distance of two values.
    #[serde(default = "default_resolution")]
    pub resolution: Duration,
    /// Secret with the key url.
    pub secret_ref: SecretReference,
}

fn default_time_range() -> Duration {
    "2419200s".into()
}

fn default_interval() -> Duration {
    "86400s".into()
}

fn default_resolution() -> Duration {
    "43200s".into()
}

/// How the copying went. Written by the datasource controllers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasourceStatus {
    /// Last successful copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_synced: Option<Time>,
    /// Next planned copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_sync_time: Option<Time>,
    /// Number of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number_of_objects: Option<i64>,
    /// The condition Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
