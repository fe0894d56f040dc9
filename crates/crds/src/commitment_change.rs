//! CommitmentChange: the journal of one request that changes commitments. What is needed to finish or to undo the change
//! is stored before the first write, so that a later leader can do either.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::{CommittedResourceSpec, Quantity, schema, wire};

/// The request and the state that it found. Never changes. Written by the change API.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "CommitmentChange",
    plural = "commitmentchanges",
    singular = "commitmentchange",
    shortname = "cchg",
    status = "CommitmentChangeStatus",
    derive = "PartialEq",
    doc = "CommitmentChange is the journal of one request that changes commitments of an availability zone.",
    printcolumn(name = "Zone", type_ = "string", json_path = ".spec.availabilityZone"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Commitments", type_ = "integer", json_path = ".spec.itemCount"),
    printcolumn(name = "Requested-By", type_ = "string", json_path = ".spec.requestID"),
    printcolumn(name = "Outcome", type_ = "string", json_path = ".status.message"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct CommitmentChangeSpec {
    /// Global id of the request.
    #[serde(rename = "requestID")]
    pub request_id: String,
    /// Availability zone of all items.
    pub availability_zone: String,
    /// Whether the caller waits until the items are accepted or rejected.
    pub requires_confirmation: bool,
    /// When the request times out.
    pub deadline: MicroTime,
    /// Number of items, for tables.
    #[schemars(range(min = 1))]
    pub item_count: i64,
    /// The changed commitments, in the order in which they were checked.
    #[schemars(length(min = 1, max = 1000))]
    pub items: Vec<ChangeItem>,
    /// The slots of all items, if the object would be too large with them: base64 of a JSON list that was compressed with
    /// gzip, which holds one list of slots per item.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub slots_gzip: Option<String>,
}

/// One changed commitment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeItem {
    /// Commitment id of Limes, as it was sent.
    #[serde(rename = "commitmentUUID")]
    pub commitment_uuid: String,
    /// The commitment when the request was admitted; absent if it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CommitmentBefore>,
    /// The slots of the commitment when the request was admitted, unless they are in slotsGzip.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotBefore>,
    /// The spec to write; absent: the commitment is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<CommittedResourceSpec>,
}

/// A commitment before the change: what a roll-back restores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitmentBefore {
    /// The whole spec.
    pub spec: CommittedResourceSpec,
    /// All annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The spec that was last brought into force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_spec: Option<CommittedResourceSpec>,
    /// metadata.generation; the first write requires it.
    pub generation: i64,
    /// metadata.uid.
    pub uid: String,
}

/// A slot of a commitment before the change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlotBefore {
    /// Name of the Reservation.
    pub name: String,
    /// Its host; absent if it had none.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub target_host: Option<String>,
    /// Its size: memory in bytes, cpu in cores.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Quantity>,
}

/// How far the change is. Written by the controller of changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitmentChangeStatus {
    /// How far the change is.
    pub phase: ChangePhase,
    /// How far each item is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 1000),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["commitmentUUID"])
    )]
    pub items: Vec<ChangeItemStatus>,
    /// Why it is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roll_back_cause: Option<RollBackCause>,
    /// The outcome in one sentence; for a rejection its reason.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the first item was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it was decided whether the change is accepted or rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Time>,
    /// When nothing was left to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// The condition Finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// How far one item is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeItemStatus {
    /// The item.
    #[serde(rename = "commitmentUUID")]
    pub commitment_uuid: String,
    /// What was done with it.
    pub step: ChangeStep,
    /// Generation of the commitment after the write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub generation: Option<i64>,
    /// What became of it.
    pub outcome: ChangeOutcome,
    /// Why, for people.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How far a change is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    Display,
)]
pub enum ChangePhase {
    /// Admitted; its first items are being written.
    #[default]
    Pending,
    /// The items are written, and their outcomes are awaited.
    Applying,
    /// Accepted for good: the change is completed, whatever happens.
    Accepted,
    /// What was written is undone.
    RollingBack,
    /// Everything is as before.
    RolledBack,
    /// Undoing has failed many times; it is still tried.
    Failed,
}

impl ChangePhase {
    /// All phases.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Applying, Self::Accepted, Self::RollingBack, Self::RolledBack, Self::Failed];

    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether written items are being undone: then `acceptedSpec` is restored as well.
    pub fn is_undoing(self) -> bool {
        matches!(self, Self::RollingBack | Self::Failed)
    }
}

/// Why a change is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RollBackCause {
    /// A commitment was rejected.
    Rejected,
    /// Not all commitments were decided in time.
    Timeout,
    /// The caller has gone away.
    Abandoned,
    /// The process that executed it has ended.
    Interrupted,
    /// Somebody deletes the object.
    Deleted,
    /// Another writer has changed a commitment.
    Conflict,
    /// The API server does not take an object.
    Refused,
}

/// What was done with an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeStep {
    /// Nothing.
    #[default]
    None,
    /// Its spec was written.
    Written,
    /// Its former spec was restored.
    Undone,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeOutcome {
    /// Not known yet.
    #[default]
    Waiting,
    /// Accepted.
    Accepted,
    /// Rejected.
    Rejected,
}

impl CommitmentChangeStatus {
    /// How far the item of a commitment is.
    pub fn item(&self, uuid: &str) -> Option<&ChangeItemStatus> {
        self.items.iter().find(|item| item.commitment_uuid == uuid)
    }
}

impl CommitmentChange {
    /// How far the change is: one without a status has just been created.
    pub fn phase(&self) -> ChangePhase {
        self.status.as_ref().map(|status| status.phase).unwrap_or_default()
    }

    /// The item of a commitment.
    pub fn item(&self, uuid: &str) -> Option<&ChangeItem> {
        self.spec.items.iter().find(|item| item.commitment_uuid == uuid)
    }

    /// Removes what nobody needs of a finished change: the former state of its commitments and slots.
    pub fn forget_former_state(&mut self) {
        self.spec.slots_gzip = None;
        for item in &mut self.spec.items {
            item.before = None;
            item.slots = Vec::new();
        }
    }
}
