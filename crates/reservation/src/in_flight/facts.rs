//! The facts of a reconciliation of an in-flight reservation. Gathered by the controller, never changed by a decision.

use std::collections::BTreeSet;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_core::{HostName, Resources, VmId};
use berth_crds::{Reservation, facts};
use jiff::Timestamp;

use super::watches::is_in_flight;

/// An in-flight reservation, the others of its VM, and where that is.
#[derive(Clone, Debug)]
pub struct InFlightFacts {
    /// The present moment; `None` while the clock cannot be trusted, so nothing ends.
    pub now: Option<Timestamp>,
    /// How long this process has known the one that is reconciled, on the monotonic clock.
    pub known_for: Duration,
    pub own: Flight,
    /// All of its VM, this one included, by key.
    pub family: Vec<Flight>,
    pub listed: BTreeSet<HostName>,
    /// Every cluster's hosts are followed: a VM that is listed nowhere is nowhere.
    pub hosts_known: bool,
    /// The size that the VM has now, if it is needed and known.
    pub vm_size: Option<Resources>,
}

/// One in-flight reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    pub key: ObjectKey,
    /// Its VM; none when the data of the variant is missing.
    pub vm: Option<VmId>,
    pub target: Option<HostName>,
    pub size: Resources,
    /// The VM changes where it is: it is listed by its host before and after.
    pub resizes: bool,
    pub created: Option<Timestamp>,
    pub end: Option<Timestamp>,
    /// The hosts that listed the VM when this process first saw the object; none while that could not be seen.
    pub listed_first: Option<BTreeSet<HostName>>,
}

/// The intents of a VM that may stay on its host.
const RESIZING: [&str; 2] = ["resize", "rebuild"];

impl Flight {
    pub(super) fn new(key: &ObjectKey, object: &Reservation, listed_first: Option<BTreeSet<HostName>>) -> Self {
        let shared = facts::slot(object);
        let data = object.spec.in_flight_reservation.as_ref();
        Self {
            key: key.clone(),
            vm: data.map(|data| data.vm_id.as_deref().unwrap_or_default().into()),
            target: shared.target_host,
            size: shared.size,
            resizes: data.is_some_and(|data| RESIZING.contains(&data.intent.as_str())),
            created: object.metadata.creation_timestamp.as_ref().map(|time| time.0),
            end: shared.end,
            listed_first,
        }
    }
}

/// An in-flight reservation that stays until we delete it.
pub(super) fn is_ours(object: &Reservation) -> bool {
    is_in_flight(object) && object.metadata.deletion_timestamp.is_none()
}
