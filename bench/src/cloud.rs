//! The objects of a full cloud. What the operator writes is not imitated: it serves one commitment, and that commitment
//! and its slots are the pattern for all.

use berth_crds::{CommittedResource, Hypervisor, Reservation, testing};
use serde_json::{Value, json};

use crate::error::Error;

/// Slots of each commitment.
pub const SLOTS: usize = 5;
/// Commitments for each host.
pub const COMMITMENTS_PER_HOST: usize = 4;
/// A host and what is on it.
pub const PER_HOST: usize = 1 + COMMITMENTS_PER_HOST * (1 + SLOTS);
const SLOTS_PER_HOST: usize = COMMITMENTS_PER_HOST * SLOTS;
const GIB: usize = 480;
const CORES: usize = 30;

/// UUID of the commitment that is the pattern.
pub const PATTERN: &str = "bench-pattern";

/// UUID of a commitment.
pub fn uuid(number: usize) -> String {
    format!("bench-{number:06}")
}

/// Name of a host.
pub fn host_name(number: usize) -> String {
    format!("node{number:05}")
}

/// A host with room for its commitments and the pattern.
pub fn host(number: usize) -> Hypervisor {
    let slots = SLOTS_PER_HOST + SLOTS;
    let mut host = testing::hypervisor(&host_name(number), &format!("{}Gi", slots * GIB), &(slots * CORES).to_string());
    if let Some(status) = &mut host.status {
        status.domain_capabilities = Some(berth_crds::hypervisor::DomainCapabilities {
            hypervisor_type: "kvm".to_owned(),
            ..Default::default()
        });
    }
    host
}

/// The commitment that is the pattern, as people create it.
pub fn commitment() -> CommittedResource {
    let mut commitment = testing::commitment(PATTERN, &format!("{}Gi", SLOTS * GIB));
    commitment.metadata.generation = None;
    commitment
}

/// The flavor groups, as the status of their Knowledge object.
pub fn flavor_groups() -> Value {
    let flavor = json!({ "name": testing::FLAVOR, "vcpus": CORES, "memoryMB": GIB * 1024, "diskGB": 64,
        "extraSpecs": { "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" } });
    json!({ "features": [{ "name": testing::GROUP, "ramCoreRatio": 16384, "flavors": [flavor],
                           "largestFlavor": flavor, "smallestFlavor": flavor }] })
}

/// What the operator has made of the pattern.
pub struct Pattern {
    commitment: String,
    uid: String,
    slots: Vec<(String, String)>,
}

impl Pattern {
    /// From a commitment that is accepted and its slots.
    pub fn new(commitment: &CommittedResource, slots: &[Reservation]) -> Result<Self, Error> {
        let slot = |slot: &Reservation| {
            let host = slot.spec.target_host.clone().unwrap_or_default();
            Ok((serde_json::to_string(slot)?, host))
        };
        Ok(Self {
            commitment: serde_json::to_string(commitment)?,
            uid: commitment.metadata.uid.clone().unwrap_or_default(),
            slots: slots.iter().map(slot).collect::<Result<_, Error>>()?,
        })
    }

    /// A commitment that is accepted.
    pub fn commitment(&self, number: usize) -> Result<CommittedResource, Error> {
        Ok(serde_json::from_value(bare(&self.commitment.replace(PATTERN, &uuid(number)))?)?)
    }

    /// Its slots, in force on its host; `uid` is that of the commitment.
    pub fn slots(&self, number: usize, uid: &str) -> Result<Vec<Reservation>, Error> {
        let host = host_name(number / COMMITMENTS_PER_HOST);
        let slot = |(text, former): &(String, String)| {
            let text = text.replace(PATTERN, &uuid(number)).replace(&self.uid, uid).replace(former, &host);
            Ok(serde_json::from_value(bare(&text)?)?)
        };
        self.slots.iter().map(slot).collect()
    }
}

/// Without what only the API server writes.
fn bare(text: &str) -> Result<Value, Error> {
    let mut object: Value = serde_json::from_str(text)?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| ["name", "labels", "annotations", "finalizers"].contains(&key.as_str()));
    }
    Ok(object)
}
