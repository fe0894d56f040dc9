//! The request with which a slot looks for a host, or what keeps it from being made.

use berth_cluster::KnownFlavorGroups;
use berth_core::SlotKey;
use berth_core::slot::{self, Slot};
use berth_crds::conditions::Status;
use berth_crds::conditions::reservation::Reason;
use berth_crds::{Reservation, labels};
use berth_scheduler::{PipelineChoice, Rank, SlotRequest, pipeline_for};
use kube::ResourceExt;

use crate::status::Says;

/// What a request is made from, besides the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestContext<'a> {
    /// The flavor groups.
    pub groups: &'a KnownFlavorGroups,
    /// Which pipeline places which group.
    pub pipelines: &'a PipelineChoice,
    /// Name of the domain, if it could be resolved.
    pub domain_name: Option<&'a str>,
    /// `metadata.creationTimestamp` of the commitment in seconds since 1970.
    pub created_unix: i64,
    /// Correlates the request with what caused it.
    pub request_id: &'a str,
}

/// The request of one slot. A flavor that is not in its group is final only while the flavor groups are up to date.
pub(crate) fn request(key: SlotKey, slot: &Slot, context: RequestContext<'_>) -> Result<SlotRequest, Says> {
    let group = context.groups.groups.get(&slot.group);
    let flavor = group.and_then(|group| group.flavor(&slot.flavor)).ok_or_else(|| missing_flavor(slot, context))?;
    let prefix = key.name.as_str().rfind('-').map_or("", |end| &key.name.as_str()[..=end]);
    Ok(SlotRequest {
        rank: Rank {
            created_unix: context.created_unix,
            commitment: slot.commitment.clone(),
            number: slot::number(&key.name, prefix).unwrap_or_default(),
        },
        key,
        project: slot.project.clone(),
        zone: slot.zone.clone(),
        flavor: flavor.clone(),
        size: slot.size,
        domain_name: context.domain_name.map(str::to_owned),
        pipeline: pipeline_for(&slot.group, context.pipelines).to_owned(),
        prefer: None,
        request_id: context.request_id.to_owned(),
    })
}

fn missing_flavor(slot: &Slot, context: RequestContext<'_>) -> Says {
    match &context.groups.outdated {
        Some(outdated) => unreadable(&outdated.error.to_string()),
        None => Says::new(
            Status::False,
            Reason::FlavorNotFound,
            format!("flavor {} not found in flavor group {}", slot.flavor, slot.group),
        ),
    }
}

/// The flavor groups cannot be read: nothing can be said about the slot.
pub(crate) fn unreadable(why: &str) -> Says {
    Says::new(Status::Unknown, Reason::FlavorDataUnavailable, "flavor groups are not available").detailed(why)
}

pub(crate) fn given_request_id(object: &Reservation) -> Option<&str> {
    let given = object.annotations().get(labels::CREATOR_REQUEST_ID);
    given.map(String::as_str).filter(|id| !id.is_empty())
}
