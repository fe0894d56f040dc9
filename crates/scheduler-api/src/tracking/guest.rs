//! Whether commitments of its project cover a VM.

use std::sync::Arc;

use berth_cluster::indexes::COMMITMENT_BY_PROJECT;
use berth_cluster::{FlavorGroupsCache, Store};
use berth_core::Quantity;
use berth_core::commitment::{ResourceType, Spec, State};
use berth_core::flavor::FlavorGroups;
use berth_crds::{CommittedResource, facts, resources};
use berth_scheduler::{Commitments, Guest, Request};
use berth_telemetry::clock::Clock;
use jiff::Timestamp;

use crate::GuestLookup;

/// The VM of a request as a guest of the commitments of its project; `None` when its flavor is in no group. Without a time
/// that can be trusted the states of commitments count alone.
pub fn guest<'c>(
    request: &Request,
    groups: &FlavorGroups,
    commitments: impl IntoIterator<Item = &'c CommittedResource>,
    now: Option<Timestamp>,
) -> Option<Guest> {
    let group = groups.group_of(&request.flavor.name)?;
    let size = group.flavor(&request.flavor.name)?.size();
    let mut guest = Guest { group: group.name.clone(), size, commitments: Commitments::None };
    let (mut used, mut amount) = (0_i128, 0_i128);
    for commitment in commitments {
        let Some(spec) = active(commitment, now).filter(|spec| serves(spec, request, &guest)) else { continue };
        guest.commitments = Commitments::UsedUp;
        used += i128::from(used_memory(commitment));
        amount += i128::from(spec.amount.round_down().max(0));
    }
    if used < amount {
        guest.commitments = Commitments::Left;
    }
    Some(guest)
}

/// The spec that the commitment holds now: state and times are those of the present spec, the rest is the accepted
/// spec.
fn active(commitment: &CommittedResource, now: Option<Timestamp>) -> Option<Spec> {
    let desired = facts::spec(commitment);
    let in_state = matches!(desired.state, State::Confirmed | State::Guaranteed);
    let is_between = |now| desired.start.is_none_or(|start| start <= now) && desired.end.is_none_or(|end| end >= now);
    let in_time = now.is_none_or(is_between);
    let stays = commitment.metadata.deletion_timestamp.is_none();
    (in_state && in_time && stays).then(|| facts::accepted_spec(commitment).unwrap_or(desired))
}

fn serves(spec: &Spec, request: &Request, guest: &Guest) -> bool {
    spec.resource == ResourceType::Memory
        && !spec.project.is_empty()
        && spec.project == request.project
        && spec.group == guest.group
        && (request.zone.is_empty() || spec.zone == request.zone)
}

/// Bytes, rounded up; nothing if it is absent.
fn used_memory(commitment: &CommittedResource) -> i64 {
    let used = commitment.status.as_ref().and_then(|status| status.used_resources.get(resources::MEMORY));
    let used = used.and_then(|used| Quantity::parse(used.as_str()).ok());
    used.unwrap_or_default().round_up().max(0)
}

/// Answers the question from the stores.
#[derive(Clone)]
pub struct Guests {
    pub enabled: bool,
    pub flavor_groups: FlavorGroupsCache,
    pub commitments: Store<CommittedResource>,
    pub clock: Arc<dyn Clock>,
}

impl Guests {
    /// The VM of this request as a guest, see [`guest`]; `None` as well when VMs are not tracked. An error while the flavor
    /// groups cannot be read.
    pub fn guest(&self, request: &Request) -> GuestLookup {
        if !self.enabled {
            return Ok(None);
        }
        let known = self.flavor_groups.get()?;
        let commitments = self.commitments.select(&COMMITMENT_BY_PROJECT, request.project.as_str());
        let commitments = commitments.iter().map(|entry| &*entry.object);
        Ok(guest(request, &known.groups, commitments, self.clock.trusted_now().ok()))
    }
}
