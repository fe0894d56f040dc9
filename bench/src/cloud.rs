//! The objects of a full cloud. What the operator writes is not imitated: it serves one commitment, and that commitment
//! and its slots are the pattern for all others.

use berth_crds::{CommittedResource, Hypervisor, Reservation, labels, testing};
use serde_json::{Value, json};

use crate::error::Error;

pub const SLOTS: usize = 5;
pub const COMMITMENTS_PER_HOST: usize = 4;
/// The number of objects for one host: the host, its commitments and their slots.
pub const PER_HOST: usize = 1 + COMMITMENTS_PER_HOST * (1 + SLOTS);
const SLOTS_PER_HOST: usize = COMMITMENTS_PER_HOST * SLOTS;
const ZONES: usize = 3;
pub const GIB: usize = 480;
pub const CORES: usize = 30;

/// UUID of the commitment that is the pattern.
pub const PATTERN: &str = "bench-pattern";

pub fn uuid(number: usize) -> String {
    format!("bench-{number:06}")
}

pub fn host_name(number: usize) -> String {
    format!("node{number:05}")
}

/// A host with free capacity for its commitments and the pattern.
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

pub fn zone(number: usize) -> &'static str {
    [testing::ZONE, "eu-test-1b", "eu-test-1c"][number % ZONES]
}

/// The name of the host for a commitment. Hosts and commitments are assigned to zones in turn, so the hosts of a zone
/// are filled evenly.
pub fn host_for(number: usize, hosts: usize) -> String {
    let (zone, turn) = (number % ZONES, number / ZONES);
    let in_zone = (hosts - zone).div_ceil(ZONES).max(1);
    host_name(zone + ZONES * (turn % in_zone))
}

pub fn host_in(number: usize, zone_number: usize) -> Hypervisor {
    let mut host = host(number);
    host.metadata.labels = Some([(labels::ZONE.to_owned(), zone(zone_number).to_owned())].into());
    host
}

/// A commitment of `slots` slots, as users create it.
pub fn commitment(uuid: &str, slots: usize) -> CommittedResource {
    let mut commitment = testing::commitment(uuid, &format!("{}Gi", slots * GIB));
    commitment.metadata.generation = None;
    commitment
}

pub fn commitment_in(uuid: &str, slots: usize, zone_number: usize) -> CommittedResource {
    let mut commitment = commitment(uuid, slots);
    zone(zone_number).clone_into(&mut commitment.spec.availability_zone);
    commitment
}

/// The flavor groups, as the status of their Knowledge object.
pub fn flavor_groups() -> Value {
    let flavor = json!({ "name": testing::FLAVOR, "vcpus": CORES, "memoryMB": GIB * 1024, "diskGB": 64,
        "extraSpecs": { "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" } });
    json!({ "features": [{ "name": testing::GROUP, "ramCoreRatio": 16384, "flavors": [flavor],
                           "largestFlavor": flavor, "smallestFlavor": flavor }] })
}

/// The objects that the operator has written for the pattern commitment.
#[derive(Clone, Debug)]
pub struct Pattern {
    commitment: String,
    uid: String,
    slots: Vec<(String, String)>,
}

impl Pattern {
    /// Builds the pattern from an accepted commitment and its slots.
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

    pub fn commitment(&self, number: usize) -> Result<CommittedResource, Error> {
        self.commitment_in(&uuid(number), testing::ZONE)
    }

    pub fn commitment_in(&self, uuid: &str, zone: &str) -> Result<CommittedResource, Error> {
        Ok(serde_json::from_value(bare(&self.commitment.replace(PATTERN, uuid).replace(testing::ZONE, zone))?)?)
    }

    /// The slots of the commitment, ready on its host; `uid` is the UID of the commitment.
    pub fn slots(&self, number: usize, uid: &str) -> Result<Vec<Reservation>, Error> {
        self.slots_on(&host_name(number / COMMITMENTS_PER_HOST), testing::ZONE, &uuid(number), uid)
    }

    /// The slots of the commitment with this UUID, whose object has the UID `owner`, ready on a host of this zone.
    pub fn slots_on(&self, host: &str, zone: &str, uuid: &str, owner: &str) -> Result<Vec<Reservation>, Error> {
        let slot = |(text, former): &(String, String)| {
            let text = text.replace(PATTERN, uuid).replace(&self.uid, owner).replace(former, host);
            Ok(serde_json::from_value(bare(&text.replace(testing::ZONE, zone))?)?)
        };
        self.slots.iter().map(slot).collect()
    }
}

/// Removes the fields that only the API server writes.
pub fn bare(text: &str) -> Result<Value, Error> {
    let mut object: Value = serde_json::from_str(text)?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| ["name", "labels", "annotations", "finalizers"].contains(&key.as_str()));
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commitments_go_to_all_hosts_of_their_zone_in_turn() {
        let hosts: Vec<_> = (0..8).map(|number| host_for(number, 5)).collect();
        let expected = [0, 1, 2, 3, 4, 2, 0, 1].map(host_name);
        assert_eq!(hosts, expected);
    }
}
