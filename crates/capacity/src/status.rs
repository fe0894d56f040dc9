//! The status of an object: all numbers, or only a condition that says that they are old.

use std::collections::BTreeMap;

use berth_core::Resources;
use berth_core::capacity::{FlavorSlots, GroupCapacity, Occupied, times};
use berth_core::flavor::{Flavor, FlavorGroup};
use berth_crds::conditions::capacity::{MAY_BE_STALE, RECONCILE_FAILED, RECONCILE_SUCCEEDED, UP_TO_DATE};
use berth_crds::conditions::{self, Status};
use berth_crds::{FlavorCapacity, FlavorGroupCapacity, FlavorGroupCapacityStatus, Quantity, resources};
use jiff::Timestamp;

/// The numbers of a group in a zone.
pub(crate) struct Numbers<'a> {
    pub(crate) group: &'a FlavorGroup,
    pub(crate) capacity: &'a GroupCapacity,
    pub(crate) committed_slots: u64,
    /// Why the VMs are not known, if they are not.
    pub(crate) running: Result<Occupied, &'a String>,
    pub(crate) reserved: Occupied,
}

/// The object with these numbers. What runs stays as it was while the VMs are not known. Zeros are written, so that they differ
/// from what is not known.
pub(crate) fn ready(mut object: FlavorGroupCapacity, numbers: &Numbers<'_>, now: Timestamp) -> FlavorGroupCapacity {
    let Numbers { group, capacity, committed_slots, running, reserved } = numbers;
    let smallest = group.smallest();
    let committed = times(smallest.map(Flavor::size).unwrap_or_default(), *committed_slots);
    let old = object.status.take().unwrap_or_default();
    let mut status = FlavorGroupCapacityStatus {
        flavors: capacity.flavors.iter().map(flavor).collect(),
        committed_capacity: Some(count(*committed_slots)),
        committed_capacity_bytes: Some(committed.memory.get()),
        smallest_flavor_name: smallest.map(|flavor| flavor.name.to_string()),
        total_capacity: map(capacity.total),
        free_capacity: map(capacity.free),
        exclusively_free_capacity: map(capacity.exclusive),
        exclusively_free_slots: Some(count(capacity.exclusive_slots)),
        reserved_instances: Some(count(reserved.instances)),
        reserved_resources: map_of_some(reserved.resources),
        reserved_units: Some(count(reserved.units)),
        last_reconcile_at: Some(conditions::whole_seconds(now)),
        ..old
    };
    if let Ok(running) = running {
        status.running_instances = Some(count(running.instances));
        status.running_resources = map_of_some(running.resources);
        status.running_units = Some(count(running.units));
    }
    let message = match running {
        Ok(_) => UP_TO_DATE.to_owned(),
        Err(why) => format!("{UP_TO_DATE}, except for the running VMs: {why}"),
    };
    with_condition(&mut status, &object, (Status::True, RECONCILE_SUCCEEDED, &message), now);
    object.status = Some(status);
    object
}

/// Why an object keeps its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outdated<'a> {
    ProbeFailed,
    /// The hosts, slots or commitments of its zone are not known.
    ZoneUnreadable(&'a str),
    /// Its zone or group may be gone, but not all clusters can be read.
    ClusterUnreadable,
    /// Nothing can be probed.
    NoFlavor,
}

impl Outdated<'_> {
    fn message(self) -> String {
        match self {
            Self::ProbeFailed => MAY_BE_STALE.to_owned(),
            Self::ZoneUnreadable(why) => format!("the zone cannot be read: {why}; capacity data may be stale"),
            Self::ClusterUnreadable => "not all clusters can be read; capacity data may be stale".to_owned(),
            Self::NoFlavor => "the flavor group has no flavor with memory; capacity data may be stale".to_owned(),
        }
    }
}

/// The object with its numbers as they are, and the condition that they may be old.
pub(crate) fn outdated(object: &FlavorGroupCapacity, why: Outdated<'_>, now: Timestamp) -> FlavorGroupCapacity {
    let mut status = object.status.clone().unwrap_or_default();
    with_condition(&mut status, object, (Status::False, RECONCILE_FAILED, &why.message()), now);
    FlavorGroupCapacity { status: Some(status), ..object.clone() }
}

fn with_condition(
    status: &mut FlavorGroupCapacityStatus,
    object: &FlavorGroupCapacity,
    (is_ready, reason, message): (Status, &str, &str),
    now: Timestamp,
) {
    // An object that is about to be created gets generation 1.
    let generation = object.metadata.generation.or(Some(1));
    let condition = conditions::ready_condition(is_ready, reason, message, generation, now);
    conditions::set_condition(&mut status.conditions, condition);
}

fn flavor(slots: &FlavorSlots) -> FlavorCapacity {
    FlavorCapacity {
        flavor_name: slots.name.to_string(),
        placeable_hosts: count(slots.placeable_hosts),
        placeable_vms: count(slots.placeable_slots),
        total_capacity_hosts: count(slots.total_hosts),
        total_capacity_vm_slots: count(slots.total_slots),
    }
}

fn map(size: Resources) -> BTreeMap<String, Quantity> {
    [(resources::MEMORY, size.memory.to_string()), (resources::CORES, size.cpu.to_string())]
        .map(|(name, amount)| (name.to_owned(), amount.into()))
        .into()
}

/// Nothing for VMs or slots that there are none of: their number says so.
fn map_of_some(size: Resources) -> BTreeMap<String, Quantity> {
    if size == Resources::ZERO { BTreeMap::new() } else { map(size) }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
