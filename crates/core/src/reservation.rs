//! A Reservation as far as capacity is concerned: how much it holds on which hosts.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{GroupName, HostName, ProjectId, SlotKey, VmId, Zone};
use crate::units::Resources;

/// One Reservation object of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub key: SlotKey,
    pub kind: ReservationKind,
    /// The project that owns it; empty for types without one.
    pub project: ProjectId,
    /// The flavor group; empty for types without one.
    pub group: GroupName,
    /// The zone; empty when the object has none.
    pub zone: Zone,
    /// `spec.resources`; a missing resource counts as zero, a negative one too.
    pub size: Resources,
    pub target_host: Option<HostName>,
    /// `status.host`, the host where it is in force.
    pub status_host: Option<HostName>,
    /// True when the Ready condition is True.
    pub ready: bool,
}

/// The variant of a Reservation, with the VMs that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReservationKind {
    /// A slot of a commitment, with the sizes of the VMs that are expected in it (`spec...allocations`).
    Committed(BTreeMap<VmId, Resources>),
    /// Held for the fail-over of these VMs (`status...allocations`).
    Failover(BTreeSet<VmId>),
    /// Held for one VM until it has landed.
    InFlight(VmId),
    /// A type that this version does not know: it blocks its size.
    Other,
}

impl Reservation {
    /// The hosts that it blocks: none while `targetHost` is empty, else `targetHost` and, while it is another one,
    /// `status.host`.
    pub fn hosts(&self) -> impl Iterator<Item = &HostName> {
        let target = self.target_host.as_ref();
        let leaving = self.status_host.as_ref().filter(|host| target.is_some_and(|target| target != *host));
        target.into_iter().chain(leaving)
    }

    /// The VMs expected in a slot of a commitment; empty for other types.
    pub fn expected(&self) -> impl Iterator<Item = (&VmId, &Resources)> {
        let vms = match &self.kind {
            ReservationKind::Committed(vms) => Some(vms),
            _ => None,
        };
        vms.into_iter().flatten()
    }
}
