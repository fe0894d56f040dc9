//! The request of a slot for a host, or the reason why it cannot be made.

use berth_cluster::KnownFlavorGroups;
use berth_core::SlotKey;
use berth_core::slot::{self, Slot};
use berth_crds::conditions::Status;
use berth_crds::conditions::reservation::Reason;
use berth_crds::{Reservation, labels};
use berth_scheduler::{PipelineChoice, SlotRequest, WaitingRank, pipeline_for};
use kube::ResourceExt;

use crate::status::SlotReady;

/// The input for a request, besides the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestContext<'a> {
    pub groups: &'a KnownFlavorGroups,
    pub pipelines: &'a PipelineChoice,
    /// Name of the domain, if it could be resolved.
    pub domain_name: Option<&'a str>,
    /// `metadata.creationTimestamp` of the commitment in seconds since 1970.
    pub created_unix: i64,
    pub request_id: &'a str,
}

/// The request of one slot. A flavor that is not in its group is final only while the flavor groups are up to date.
pub(crate) fn request(key: SlotKey, slot: &Slot, context: RequestContext<'_>) -> Result<SlotRequest, SlotReady> {
    let group = context.groups.groups.get(&slot.group);
    let flavor = group.and_then(|group| group.flavor(&slot.flavor)).ok_or_else(|| missing_flavor(slot, context))?;
    let prefix = key.name.as_str().rfind('-').map_or("", |end| &key.name.as_str()[..=end]);
    Ok(SlotRequest {
        rank: WaitingRank {
            created_unix: context.created_unix,
            commitment: slot.commitment.clone(),
            number: slot::number(&key.name, prefix).unwrap_or_default(),
        },
        key,
        project: slot.project.clone(),
        zone: slot.zone.clone(),
        flavor: flavor.clone(),
        size: slot.size,
        vms: [].into(),
        domain_name: context.domain_name.map(str::to_owned),
        pipeline: pipeline_for(&slot.group, context.pipelines).to_owned(),
        prefer: None,
        request_id: context.request_id.to_owned(),
    })
}

fn missing_flavor(slot: &Slot, context: RequestContext<'_>) -> SlotReady {
    match &context.groups.outdated {
        Some(outdated) => unreadable(&outdated.error.to_string()),
        None => SlotReady::new(
            Status::False,
            Reason::FlavorNotFound,
            format!("flavor {} not found in flavor group {}", slot.flavor, slot.group),
        ),
    }
}

/// The flavor groups cannot be read, so the state of the slot is unknown.
pub(crate) fn unreadable(why: &str) -> SlotReady {
    SlotReady::new(Status::Unknown, Reason::FlavorDataUnavailable, "flavor groups are not available").detailed(why)
}

pub(crate) fn given_request_id(object: &Reservation) -> Option<&str> {
    let given = object.annotations().get(labels::CREATOR_REQUEST_ID);
    given.map(String::as_str).filter(|id| !id.is_empty())
}
