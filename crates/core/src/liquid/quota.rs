//! A push of quota: what Limes wants a project to have in each zone, and the objects that follow from it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use thiserror::Error;

use super::names::{ResourceKind, parse_resource};
use super::request::{DecodeError, ProjectMetadata};
use super::units::RamUnit;
use super::usage::QuotaByZone;
use super::validation::is_real_zone;
use super::wire::{self, MAX_ZONES, Object};
use crate::ids::{DomainId, GroupName, ProjectId, Zone};

/// The request. Members that Berth does not know are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QuotaRequest {
    /// By names of resources.
    #[serde(deserialize_with = "wire::objects")]
    pub resources: BTreeMap<String, ResourceQuota>,
    #[serde(deserialize_with = "wire::object")]
    pub project_metadata: ProjectMetadata,
}

/// The quota of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuota {
    /// The sum over all zones, which does not count.
    #[serde(deserialize_with = "wire::or_default")]
    pub quota: u64,
    #[serde(rename = "perAZ", deserialize_with = "wire::objects")]
    pub per_zone: BTreeMap<Zone, QuotaOfZone>,
}

/// The quota of one resource in one zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct QuotaOfZone {
    /// In declared units.
    #[serde(deserialize_with = "wire::or_default")]
    pub quota: u64,
}

/// Why a request is refused. The text is the answer to its sender.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuotaError {
    #[error("Project UUID mismatch: URL has \"{url}\" but metadata has \"{metadata}\"")]
    OtherProject { url: ProjectId, metadata: ProjectId },
    #[error("quota request contains no resources")]
    NoResources,
    #[error("Quota value for resource \"{resource}\" is for AZ \"{zone}\", which is not a real availability zone")]
    UnrealZone { resource: String, zone: Zone },
    #[error("quota request has more than {MAX_ZONES} availability zones")]
    TooManyZones,
    #[error("Quota value for resource \"{resource}\" in AZ \"{zone}\" exceeds int64 max")]
    OutOfRange { resource: String, zone: Zone },
}

/// A request for this project whose resources and zones are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRequest {
    project: ProjectId,
    request: QuotaRequest,
}

/// What the zones of a project are to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaPush {
    pub project: ProjectId,
    /// What Limes says about the project.
    pub metadata: ProjectMetadata,
    /// In the units of the objects. Every zone of it becomes an object.
    pub zones: QuotaByZone,
}

/// What the object of a zone says besides project and zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneQuota {
    pub project_name: String,
    pub domain: DomainId,
    pub domain_name: String,
    pub quota: BTreeMap<String, i64>,
}

/// What became of a zone of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneOutcome<E> {
    /// Its object is as it should be.
    Stored,
    /// No cluster serves the zone.
    NotServed,
    Failed(E),
}

/// The zones of a push that was stored as a whole. Objects of other zones of the project are left over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredZones(BTreeSet<Zone>);

impl QuotaRequest {
    /// Reads a body. Text after the JSON value is ignored.
    pub fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let mut json = serde_json::Deserializer::from_slice(body);
        let request: Result<Object<Self>, _> = serde_path_to_error::deserialize(&mut json);
        request.map(|object| object.0).map_err(|error| DecodeError::of(&error))
    }

    /// Checks everything but the values. `project` is the one that the path names.
    pub fn check(self, project: ProjectId) -> Result<CheckedRequest, QuotaError> {
        let metadata = &self.project_metadata.uuid;
        if !metadata.is_empty() && *metadata != project {
            return Err(QuotaError::OtherProject { url: project, metadata: metadata.clone() });
        }
        // A request without any resource would delete all quota. Limes always sends all resources, so it is a fault.
        if self.resources.is_empty() {
            return Err(QuotaError::NoResources);
        }
        let mut zones = BTreeSet::new();
        for (resource, zone) in self.places() {
            if !is_real_zone(zone) {
                return Err(QuotaError::UnrealZone { resource: resource.to_owned(), zone: zone.clone() });
            }
            zones.insert(zone);
        }
        if zones.len() > MAX_ZONES {
            Err(QuotaError::TooManyZones)
        } else {
            Ok(CheckedRequest { project, request: self })
        }
    }

    fn places(&self) -> impl Iterator<Item = (&str, &Zone)> {
        let all = self.resources.iter();
        all.flat_map(|(resource, quota)| quota.per_zone.keys().map(move |zone| (resource.as_str(), zone)))
    }
}

impl CheckedRequest {
    /// The push in the units of the objects, for all zones, or those that are `served` if some are named. All values are
    /// checked, also those of other zones. `unit_of` is the unit of RAM in which the sender counts.
    pub fn into_push(
        self,
        unit_of: impl Fn(&GroupName) -> Option<RamUnit>,
        served: &BTreeSet<Zone>,
    ) -> Result<QuotaPush, QuotaError> {
        let mut zones = QuotaByZone::new();
        for (resource, quota) in &self.request.resources {
            let unit = unit(resource, &unit_of);
            for (zone, QuotaOfZone { quota }) in &quota.per_zone {
                let out_of_range = || QuotaError::OutOfRange { resource: resource.clone(), zone: zone.clone() };
                let stored = unit.and_then(|unit| unit.gib(*quota)).ok_or_else(out_of_range)?;
                if served.is_empty() || served.contains(zone) {
                    zones.entry(zone.clone()).or_default().insert(resource.clone(), stored);
                }
            }
        }
        Ok(QuotaPush { project: self.project, metadata: self.request.project_metadata, zones })
    }
}

/// The unit of a value, of which only that of RAM differs from 1. RAM of groups that are not known has one too: otherwise
/// it would become wrong when the group appears.
fn unit(resource: &str, unit_of: impl Fn(&GroupName) -> Option<RamUnit>) -> Option<RamUnit> {
    match parse_resource(resource) {
        Some((group, ResourceKind::Ram)) => unit_of(&group),
        _ => Some(RamUnit::default()),
    }
}

impl QuotaPush {
    /// The object of the zone after the push. The quota is replaced as a whole. What Limes does not say about the project
    /// stays as it is stored.
    pub fn zone_quota(&self, zone: &Zone, stored: Option<&ZoneQuota>) -> ZoneQuota {
        let ProjectMetadata { name, domain, .. } = &self.metadata;
        let former = stored.cloned().unwrap_or_default();
        let or_former = |sent: &String, former: String| if sent.is_empty() { former } else { sent.clone() };
        ZoneQuota {
            project_name: or_former(name, former.project_name),
            domain: if domain.uuid.is_empty() { former.domain } else { domain.uuid.clone() },
            domain_name: or_former(&domain.name, former.domain_name),
            quota: self.zones.get(zone).cloned().unwrap_or_default(),
        }
    }
}

impl StoredZones {
    /// The zones that were stored if none has failed, otherwise those that have, with the reasons, in the order of their
    /// names. What is left over of a project is deleted only after the rest was stored.
    pub fn of<E>(outcomes: BTreeMap<Zone, ZoneOutcome<E>>) -> Result<Self, Vec<(Zone, E)>> {
        let (mut stored, mut failed) = (BTreeSet::new(), Vec::new());
        for (zone, outcome) in outcomes {
            match outcome {
                ZoneOutcome::Stored => {
                    stored.insert(zone);
                }
                ZoneOutcome::NotServed => {}
                ZoneOutcome::Failed(error) => failed.push((zone, error)),
            }
        }
        if failed.is_empty() { Ok(Self(stored)) } else { Err(failed) }
    }

    /// Whether the push leaves nothing of the object of this zone.
    pub fn leaves_over(&self, zone: &str) -> bool {
        !self.0.contains(zone)
    }
}

#[cfg(test)]
mod tests;
