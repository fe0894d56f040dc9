//! The questions and answers about slots: what needs a host, what came of it.

use std::collections::BTreeMap;

use berth_core::flavor::Flavor;
use berth_core::host::Amounts;
use berth_core::{CommitmentUuid, HostName, ProjectId, Resources, SlotKey, VmId, Zone};

use crate::Shortage;

/// Order of the waiting list: oldest commitment first. The fields are compared from the top.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingRank {
    /// `metadata.creationTimestamp` of the commitment, in seconds since 1970.
    pub created_unix: i64,
    /// The commitment, by which its slots are grouped.
    pub commitment: CommitmentUuid,
    /// The number of the slot in its commitment.
    pub number: u64,
}

/// One slot that needs a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRequest {
    pub key: SlotKey,
    pub rank: WaitingRank,
    /// The project of the commitment; may be empty.
    pub project: ProjectId,
    /// The zone of the slot; empty means any.
    pub zone: Zone,
    /// The flavor named by the slot: its extra specs select hosts, its size does not.
    pub flavor: Flavor,
    pub size: Resources,
    /// The VMs that the slot will expect from its creation, each with the size that it has there. On a host that lists
    /// them it needs only what they do not occupy already. For a slot that exists the VMs of its object count instead.
    pub vms: BTreeMap<VmId, Resources>,
    /// The name of the project's domain; `None` when no resolver is configured.
    pub domain_name: Option<String>,
    /// The pipeline, as [`crate::pipeline_for`] chose it; empty means inferred from the flavor.
    pub pipeline: String,
    /// A former host, taken without further ranking if the filters keep it.
    pub prefer: Option<HostName>,
    /// The request id, for logs and for an external scheduler.
    pub request_id: String,
}

impl SlotRequest {
    /// True if a host for one of them would be a host for the other one.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.size, &self.zone, &self.project) == (other.size, &other.zone, &other.project)
            && (&self.pipeline, &self.domain_name, &self.prefer) == (&other.pipeline, &other.domain_name, &other.prefer)
            && (&self.flavor, &self.vms) == (&other.flavor, &other.vms)
    }
}

/// A commitment's slots, placed as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitmentRequest {
    /// The slots that need a host, in the order in which free capacity is given out.
    pub slots: Vec<SlotRequest>,
    /// Slots that the same plan releases first: their capacity counts as free for this decision.
    pub release: Vec<SlotKey>,
    /// Slots that the same plan shrinks first, with their new sizes: they count with these for this decision.
    pub shrink: Vec<(SlotKey, Resources)>,
    /// Rejection is allowed: no assume entry is made unless all slots fit.
    pub all_or_nothing: bool,
    /// The slots exist already: those that do not fit enter the waiting list, so that none of them needs a request of
    /// its own.
    pub existing: bool,
    /// The open change that the commitment belongs to, if there is capacity to take over in it.
    pub handover: Option<Handover>,
}

/// Capacity that other commitments of an open change release. Nobody else gets it before the change has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handover {
    /// The name of the change.
    pub change: String,
    /// Slots of the others, whose capacity counts as free for this decision.
    pub slots: Vec<SlotKey>,
}

/// The answer to a [`CommitmentRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The slots are placed one by one after they were created: by an external scheduler, or because their commitment
    /// has not been planned yet.
    Later,
    Decided {
        /// The host of each slot, in the order of the request's slots. Each host has an assume entry, except if the
        /// request is `all_or_nothing` and a slot did not fit.
        hosts: Vec<Option<HostName>>,
        /// Why the first slot that did not fit found no host; `None` when all fit.
        shortage: Option<Shortage>,
        /// The slots of [`CommitmentRequest::handover`] without whose capacity the hosts would not have been found: they
        /// are deleted first. What is left of their capacity is held for the change.
        used: Vec<SlotKey>,
    },
}

/// The answer to a dry run about one commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunPlacement {
    pub hosts: Vec<Option<HostName>>,
    /// Why the first slot that did not fit found no host; `None` when all fit.
    pub shortage: Option<Shortage>,
}

/// The answer for one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The slot has an assume entry on this host.
    Host(HostName),
    /// No host fits; the slot is in the waiting list.
    Nowhere(Shortage),
    /// The commitment was not planned as it is now; the slot is enqueued when that has happened.
    Unplanned,
}

/// Free capacity for a slot on a given host, to restore its size, follow its VM, or create it again on its former host.
/// Only the capacity and the zone are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    pub key: SlotKey,
    pub host: HostName,
    /// The whole size that the slot shall have there.
    pub size: Resources,
    /// The VMs that the write will make the slot expect, each with the size that it has there. What they occupy on the
    /// host already is not asked for again, so that this works on a full host. If another slot expects one of them, or is
    /// about to, the answer is no.
    pub vms: BTreeMap<VmId, Resources>,
    /// The zone of the slot; empty means any.
    pub zone: Zone,
}

/// Whether the host that a slot names is valid for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostVerdict {
    /// Nothing speaks against it, or nothing is known about it.
    Ok,
    /// The host is not in the view. The controller decides whether it is gone for good.
    NoSuchHost,
    /// The host is in another zone than the slot.
    WrongZone { zone: Zone },
    /// The slot has no VM, is not in force yet, was not placed by us, and does not fit.
    Overbooked {
        /// The free capacity of the host with the slot on it: negative in at least one resource.
        free: Amounts,
    },
}
