//! Labels, annotations, finalizers and fixed names.

use std::collections::BTreeMap;

use crate::names;

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

/// Annotation of a CommittedResource that a change has created and Limes has not listed yet, as far as is known: Limes may
/// have undone the change after our answer. Set by the controller of changes, removed by the syncer when Limes lists it.
pub const NOT_YET_LISTED: &str = "reservations.cortex.cloud/not-yet-listed";

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

/// Annotation of a CommittedResource or a CommitmentChange: the names of clusters, separated by commas, whose slots are given up,
/// so that deletion can finish without them. Set by a person.
pub const FORGET_CLUSTER: &str = "reservations.cortex.cloud/forget-cluster";

/// Finalizer of a CommittedResource: its slots have to go first. Set before the first slot is created, removed when no
/// slot is left in any cluster.
pub const RELEASE_SLOTS: &str = "reservations.cortex.cloud/release-slots";

/// Label of a CommitmentChange: its availability zone as a [`value`]; the exact zone is in its spec. Set by the change API.
pub const AZ: &str = "reservations.cortex.cloud/az";

/// Finalizer of an open CommitmentChange: who deletes it has it rolled back or completed first. Set by the change API,
/// removed with the condition `Finished`.
pub const FINISH_CHANGE: &str = "reservations.cortex.cloud/finish-change";

/// Annotation of a slot that was taken over from another commitment: the UUID of that commitment. Set by the
/// CommittedResource controller.
pub const INHERITED_FROM: &str = "reservations.cortex.cloud/inherited-from";

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

/// Longest value of a label, in bytes.
const MAX_VALUE: usize = 63;

/// Longest readable part of a value that ends in a hash, in bytes.
const MAX_READABLE: usize = 56;

/// A text as the value of a label. One that the API server would refuse is made valid: other characters become `-`, and a
/// hash tells it from others that read the same.
pub fn value(text: &str) -> String {
    if is_value(text) {
        return text.to_owned();
    }
    let valid = |c: char| if is_inner(c) { c } else { '-' };
    let readable: String = text.chars().map(valid).take(MAX_READABLE).collect();
    let readable = readable.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let hash = names::hash(&[text]);
    if readable.is_empty() { hash } else { format!("{readable}-{hash}") }
}

fn is_value(text: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= MAX_VALUE
        && text.chars().all(is_inner)
        && is_edge(text.chars().next())
        && is_edge(text.chars().last())
}

fn is_inner(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{is_value, value};

    #[test]
    fn a_zone_that_is_a_value_stays_as_it_is() {
        for zone in ["eu-test-1a", "EU-NL-3B", "zone_7", "a..b", "", &"z".repeat(63)] {
            assert_eq!(value(zone), zone);
        }
    }

    #[test]
    fn another_zone_gets_a_hash() {
        assert_eq!(value("zone-"), "zone--0afade");
        assert_eq!(value("/zone 1"), "zone-1-235dd3");
        assert_eq!(value("\u{fc}"), "9dd44a");
        assert_eq!(value(&"z".repeat(64)).len(), 63);
        assert_ne!(value("a b"), value("a/b"));
    }

    proptest! {
        #[test]
        fn every_text_becomes_a_value(text in "\\PC{0,80}") {
            prop_assert!(is_value(&value(&text)), "{text:?}: {:?}", value(&text));
        }
    }
}
