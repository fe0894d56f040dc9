//! The objects of the API server at a moment, and their display.

use std::collections::BTreeMap;
use std::fmt;

use berth_crds::{
    CommittedResource, Condition, FlavorGroupCapacity, Hypervisor, Knowledge, Quantity, Reservation, ReservationType,
    conditions, names, resources,
};
use kube::ResourceExt;
use serde_json::Value;

const MIB: i64 = 1 << 20;

/// All objects that matter here. Reservations that cannot be decoded are kept raw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub commitments: Vec<CommittedResource>,
    pub reservations: Vec<Reservation>,
    pub unreadable: Vec<Value>,
    pub hosts: Vec<Hypervisor>,
    pub knowledges: Vec<Knowledge>,
    pub capacities: Vec<FlavorGroupCapacity>,
}

impl Seen {
    /// The commitment with this UUID and the canonical name.
    pub fn commitment(&self, uuid: &str) -> Option<&CommittedResource> {
        self.named(&names::commitment(uuid))
    }

    pub fn named(&self, name: &str) -> Option<&CommittedResource> {
        self.commitments.iter().find(|commitment| commitment.name_any() == name)
    }

    pub fn slots(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.iter().filter(|one| one.spec.type_ == ReservationType::CommittedResourceReservation)
    }

    /// The slots that name this commitment, by name.
    pub fn slots_of(&self, uuid: &str) -> Vec<&Reservation> {
        self.slots().filter(|slot| commitment_of(slot) == uuid).collect()
    }

    pub fn slot(&self, name: &str) -> Option<&Reservation> {
        self.slots().find(|slot| slot.name_any() == name)
    }

    /// Names of the hosts on which a commitment has slots, one entry for each slot, sorted.
    pub fn hosts_of(&self, uuid: &str) -> Vec<String> {
        let mut hosts: Vec<_> = self.slots_of(uuid).iter().filter_map(|slot| slot.spec.target_host.clone()).collect();
        hosts.sort();
        hosts
    }

    /// Memory of the slots of a commitment in MiB, each, by slot name.
    pub fn sizes_of(&self, uuid: &str) -> Vec<i64> {
        self.slots_of(uuid).iter().map(|slot| amount(&slot.spec.resources, resources::MEMORY) / MIB).collect()
    }

    /// `<kind>/<name>` and resourceVersion of all objects that the operator writes.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let commitments =
            self.commitments.iter().map(|c| (format!("commitment {}", c.name_any()), c.resource_version()));
        let slots = self.reservations.iter().map(|r| (format!("reservation {}", r.name_any()), r.resource_version()));
        commitments.chain(slots).map(|(name, version)| (name, version.unwrap_or_default())).collect()
    }
}

/// The UUID of the commitment that a slot names.
pub fn commitment_of(slot: &Reservation) -> &str {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.commitment_uuid.as_deref()).unwrap_or_default()
}

pub fn ready(commitment: &CommittedResource) -> Option<&Condition> {
    conditions::ready(&commitment.status.as_ref()?.conditions)
}

pub fn slot_ready(slot: &Reservation) -> Option<&Condition> {
    conditions::ready(&slot.status.as_ref()?.conditions)
}

/// The host on which a Reservation is ready.
pub fn in_force_on(slot: &Reservation) -> Option<&str> {
    slot.status.as_ref()?.host.as_deref()
}

/// An amount of a resource map, rounded up; 0 if it is missing or invalid.
pub fn amount(map: &BTreeMap<String, Quantity>, name: &str) -> i64 {
    let quantity = map.get(name).and_then(|quantity| berth_core::Quantity::parse(quantity.as_str()).ok());
    quantity.map_or(0, berth_core::Quantity::round_up)
}

/// The number of lines of each kind in the text of a failure.
const LINES: usize = 40;

/// One line for each object, those that are not ready first, for the text of a failure.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_ready = |condition: Option<&Condition>| condition.is_some_and(|condition| condition.status == "True");
        let mut commitments: Vec<_> = self.commitments.iter().collect();
        commitments.sort_by_key(|commitment| is_ready(ready(commitment)));
        let mut reservations: Vec<_> = self.reservations.iter().collect();
        reservations.sort_by_key(|reservation| is_ready(slot_ready(reservation)));
        lines(f, commitments.into_iter().map(commitment_line))?;
        lines(f, reservations.into_iter().map(reservation_line))?;
        lines(f, self.unreadable.iter().map(|raw| format!("unreadable: {raw}")))?;
        lines(f, self.hosts.iter().map(host_line))
    }
}

fn lines(f: &mut fmt::Formatter<'_>, all: impl ExactSizeIterator<Item = String>) -> fmt::Result {
    let more = all.len().saturating_sub(LINES);
    for line in all.take(LINES) {
        writeln!(f, "  {line}")?;
    }
    if more > 0 { writeln!(f, "  and {more} more") } else { Ok(()) }
}

fn commitment_line(c: &CommittedResource) -> String {
    let (spec, meta) = (&c.spec, &c.metadata);
    format!(
        "{} generation={} {} {} {} {} finalizers={:?} deletion={:?}: {}",
        c.name_any(),
        meta.generation.unwrap_or_default(),
        spec.amount,
        spec.flavor_group_name,
        spec.availability_zone,
        spec.state,
        c.finalizers(),
        meta.deletion_timestamp.as_ref().map(|time| time.0),
        reported(ready(c)),
    )
}

fn reservation_line(r: &Reservation) -> String {
    let (target, host) = (r.spec.target_host.as_deref(), in_force_on(r));
    let size: Vec<_> = r.spec.resources.iter().map(|(name, size)| format!("{name}={size}")).collect();
    format!("{} {} target={target:?} host={host:?}: {}", r.name_any(), size.join(" "), reported(slot_ready(r)))
}

fn host_line(h: &Hypervisor) -> String {
    let status = h.status.clone().unwrap_or_default();
    let zone = h.labels().get(berth_crds::labels::ZONE);
    let (capacity, allocation) = (&status.effective_capacity, &status.allocation);
    let vms = status.instances.len();
    format!("{} zone={zone:?} capacity={capacity:?} allocation={allocation:?} vms={vms}", h.name_any())
}

fn reported(condition: Option<&Condition>) -> String {
    match condition {
        Some(c) => format!("{}={} (generation {:?}) {}", c.status, c.reason, c.observed_generation, c.message),
        None => "no condition".to_owned(),
    }
}
