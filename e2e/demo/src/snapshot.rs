//! Commitments and their slots at one moment, and derived values.

use std::sync::Arc;

use berth_crds::{CommitmentChange, CommittedResource, Condition, Reservation, conditions};
use kube::ResourceExt;

/// All commitments and slots, by name.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub commitments: Vec<Arc<CommittedResource>>,
    /// The slots, and reservations of other types if there are any.
    pub slots: Vec<Arc<Reservation>>,
    /// Requests of Limes.
    pub changes: Vec<Arc<CommitmentChange>>,
}

impl Snapshot {
    pub fn commitment(&self, name: &str) -> Option<&CommittedResource> {
        self.commitments.iter().map(AsRef::as_ref).find(|commitment| commitment.name_any() == name)
    }

    pub fn without_zone(mut self, zone: &str) -> Self {
        self.commitments.retain(|commitment| commitment.spec.availability_zone != zone);
        self.slots.retain(|slot| slot.spec.availability_zone.as_deref() != Some(zone));
        self
    }

    pub fn slots_of(&self, commitment: &CommittedResource) -> impl Iterator<Item = &Reservation> {
        let uuid = commitment.spec.commitment_uuid.as_str();
        self.slots.iter().map(AsRef::as_ref).filter(move |slot| commitment_uuid(slot) == Some(uuid))
    }
}

pub fn ready(commitment: &CommittedResource) -> Option<&Condition> {
    conditions::ready(&commitment.status.as_ref()?.conditions)
}

/// Whether a commitment is Ready for its current spec.
pub fn is_accepted(commitment: &CommittedResource) -> bool {
    ready(commitment)
        .is_some_and(|ready| ready.status == "True" && ready.observed_generation == commitment.metadata.generation)
}

pub fn is_in_force(slot: &Reservation) -> bool {
    slot.status.as_ref().is_some_and(|status| conditions::is_ready(&status.conditions))
}

fn commitment_uuid(slot: &Reservation) -> Option<&str> {
    slot.spec.committed_resource_reservation.as_ref()?.commitment_uuid.as_deref()
}

#[cfg(test)]
pub mod testing {
    //! Commitments and slots for tests.

    use serde_json::{Value, json};

    use super::*;

    /// A commitment `commitment-<uuid>` of 480 GiB with a Ready condition for its generation.
    pub fn commitment(uuid: &str, zone: &str, reason: &str, message: &str) -> CommittedResource {
        object(&json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommittedResource",
            "metadata": { "name": format!("commitment-{uuid}"), "generation": 2 },
            "spec": {
                "commitmentUUID": uuid, "flavorGroupName": "mem_v4", "resourceType": "memory", "amount": "480Gi",
                "availabilityZone": zone, "projectID": "p", "domainID": "d", "state": "confirmed"
            },
            "status": { "conditions": [condition(reason, reason == "Accepted", message)] }
        }))
    }

    /// Slot `number` of a commitment, of 240 GiB and 15 vCPUs, ready on a host or without one.
    pub fn slot(uuid: &str, number: u32, host: Option<&str>) -> Reservation {
        let reason = if host.is_some() { "ReservationActive" } else { "NoHostsFound" };
        object(&json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
            "metadata": { "name": format!("commitment-{uuid}-{number}") },
            "spec": {
                "type": "CommittedResourceReservation", "availabilityZone": "az-a", "targetHost": host,
                "resources": { "memory": "240Gi", "cpu": "15" },
                "committedResourceReservation": { "commitmentUUID": uuid, "resourceName": "mem_v4_c15_m240" }
            },
            "status": { "host": host, "conditions": [condition(reason, host.is_some(), "")] }
        }))
    }

    pub fn snapshot(commitments: Vec<CommittedResource>, slots: Vec<Reservation>) -> Snapshot {
        Snapshot {
            commitments: commitments.into_iter().map(Arc::new).collect(),
            slots: slots.into_iter().map(Arc::new).collect(),
            changes: Vec::new(),
        }
    }

    pub fn object<T: serde::de::DeserializeOwned>(json: &Value) -> T {
        serde_json::from_value(json.clone()).unwrap()
    }

    fn condition(reason: &str, holds: bool, message: &str) -> Value {
        json!({
            "type": "Ready", "status": if holds { "True" } else { "False" }, "reason": reason, "message": message,
            "observedGeneration": 2, "lastTransitionTime": "2026-01-01T00:00:00Z"
        })
    }
}
