//! Labels, annotations, finalizers and fixed names.

use std::collections::BTreeMap;

/// Label of a Reservation: its variant, one of the `TYPE_` values. Set by the creator together with `spec.type`.
pub const TYPE: &str = "reservations.cortex.cloud/type";

/// Value of [`TYPE`] for slots of commitments. Set by the CommittedResource controller.
pub const TYPE_COMMITTED_RESOURCE: &str = "committed-resource";

/// Value of [`TYPE`] for failover blocks. Set by the failover controller.
pub const TYPE_FAILOVER: &str = "failover";

/// Value of [`TYPE`] for VMs on their way. Set by the scheduler that places the VM.
pub const TYPE_IN_FLIGHT: &str = "in-flight";

/// Label of a failover Reservation: which deployment created it. For people.
pub const CREATOR: &str = "cortex.cloud/creator";

/// Label of a Hypervisor: its availability zone, which also routes it to a cluster. Set by the hypervisor operator.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// Annotation of a CommittedResource and of its slots: the id of the request or reconcile that wrote the object, for
/// the correlation of logs. Set by the change API and the CommittedResource controller.
pub const CREATOR_REQUEST_ID: &str = "reservations.cortex.cloud/creator-request-id";

/// Annotation of a slot that Berth created: `metadata.uid` of its commitment. Without it a slot whose commitment is gone
/// is never deleted as an orphan. Set by the CommittedResource controller.
pub const COMMITMENT_UID: &str = "reservations.cortex.cloud/commitment-uid";

/// Annotation of the Knowledge object: a time, at most 24 hours ahead, until which the disruption limit is off. Set by a person.
pub const CONFIRM_DISRUPTION: &str = "reservations.cortex.cloud/confirm-disruption";

/// Annotation of a CommittedResource: reconciliation of the commitment and its slots is paused while it is set. Set by a
/// user.
pub const PAUSED: &str = "reservations.cortex.cloud/paused";

/// The former name of [`PAUSED`], which is read for one more release.
pub const FORMER_PAUSED: &str = "reservations.cortex.cloud/freeze";

/// The annotation that pauses an object, if one does: [`PAUSED`] or [`FORMER_PAUSED`].
pub fn pause_annotation(annotations: &BTreeMap<String, String>) -> Option<&'static str> {
    [PAUSED, FORMER_PAUSED].into_iter().find(|name| annotations.contains_key(*name))
}

/// Annotation of a CommittedResource: the names of clusters, separated by commas, whose slots are given up, so that
/// deletion can finish without them. Set by a person.
pub const FORGET_CLUSTER: &str = "reservations.cortex.cloud/forget-cluster";

/// Finalizer of a CommittedResource: its slots have to go first. Set before the first slot is created, removed when no
/// slot is left in any cluster.
pub const RELEASE_SLOTS: &str = "reservations.cortex.cloud/release-slots";

/// Annotation of the Lease: the base URL at which its holder answers, for example `http://10.0.0.7:8080`; other replicas
/// send there what only the leader may decide. Set by the holder.
pub const API_ADDRESS: &str = "reservations.cortex.cloud/api-address";

/// The scheduling domain that Berth writes, and the only one it acts on.
pub const NOVA: &str = "nova";

/// `spec.extractor.name` of the Knowledge object [`crate::names::FLAVOR_GROUPS`].
pub const FLAVOR_GROUPS_EXTRACTOR: &str = "flavor_groups";

/// `creator` of slots made to fulfil a spec.
pub const SLOT_CREATOR: &str = "committed-resource-controller";

/// `creator` of slots made to restore an accepted spec.
pub const SLOT_CREATOR_ROLLBACK: &str = "committed-resource-controller-rollback";
