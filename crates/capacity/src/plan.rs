//! Plan: the objects to write and to delete, from what was probed and counted in a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_core::capacity::{GroupCapacity, OccupiedByPlace, ProbedGroup, ProbedHost, zone_capacity};
use berth_core::flavor::FlavorGroup;
use berth_core::{GroupName, Zone};
use berth_crds::{FlavorGroupCapacity, FlavorGroupCapacitySpec, names};
use jiff::Timestamp;

use crate::status::{self, Numbers};

/// A flavor group in a zone.
pub type Place = (GroupName, Zone);

/// An object as it is stored.
#[derive(Clone, Debug)]
pub struct StoredCapacity {
    pub key: ObjectKey,
    pub object: Arc<FlavorGroupCapacity>,
}

/// A group in a zone.
#[derive(Clone, Debug)]
pub struct PlaceFacts<'a> {
    pub group: &'a FlavorGroup,
    /// `None`: a probe of one of its flavors has failed.
    pub probed: Option<ProbedGroup>,
    /// Slots of the smallest flavor that commitments have.
    pub committed_slots: u64,
}

/// A zone whose hosts are known.
#[derive(Clone, Debug)]
pub struct ZoneFacts<'a> {
    pub zone: Zone,
    /// In the order of their names.
    pub hosts: Vec<ProbedHost>,
    pub places: Vec<PlaceFacts<'a>>,
}

/// What a cycle has found out.
#[derive(Clone, Debug)]
pub struct CycleFacts<'a> {
    pub zones: Vec<ZoneFacts<'a>>,
    /// Why the VMs are not known, if they are not.
    pub running: Result<OccupiedByPlace, String>,
    pub reserved: OccupiedByPlace,
    /// All objects there are.
    pub stored: Vec<StoredCapacity>,
    /// Whether the hosts of all clusters are known.
    pub is_complete: bool,
    /// What was absent in the last complete cycle.
    pub absent_before: BTreeSet<Place>,
    pub now: Timestamp,
}

/// An object with its new status. `stored` is `None` for one that does not exist yet.
#[derive(Clone, Debug)]
pub struct CapacityWrite {
    pub stored: Option<StoredCapacity>,
    pub object: FlavorGroupCapacity,
}

/// What a cycle does.
#[derive(Clone, Debug, Default)]
pub struct CapacityPlan {
    pub writes: Vec<CapacityWrite>,
    /// Objects whose group or zone was absent in the last complete cycle, too.
    pub orphans: Vec<StoredCapacity>,
    /// What is absent now, for the next cycle; empty if this one is not complete.
    pub absent: BTreeSet<Place>,
}

/// Every group and zone gets its object. One of a group of which a probe has failed keeps its values and is not ready. Groups
/// that were not probed get no share of the free capacity, so the others may see more than theirs until the next cycle.
///
/// While a cluster cannot be read, zones may seem to be absent: their objects are not ready, and none is deleted.
pub fn plan(facts: &CycleFacts<'_>) -> CapacityPlan {
    let stored = first_by_place(&facts.stored);
    let writes = facts.zones.iter().flat_map(|zone| zone_writes(zone, facts, &stored)).collect();
    let present: BTreeSet<Place> = facts.zones.iter().flat_map(places_of).collect();
    let is_absent = |one: &&StoredCapacity| !present.contains(&place_of(&one.object));
    let absent: Vec<&StoredCapacity> = facts.stored.iter().filter(is_absent).collect();
    let mut plan = CapacityPlan { writes, ..CapacityPlan::default() };
    if facts.is_complete {
        let is_orphan = |one: &&&StoredCapacity| facts.absent_before.contains(&place_of(&one.object));
        plan.orphans = absent.iter().filter(is_orphan).map(|one| (*one).clone()).collect();
        plan.absent = absent.iter().map(|one| place_of(&one.object)).collect();
    } else {
        plan.writes.extend(absent.into_iter().map(|one| CapacityWrite::outdated(one, facts.now)));
    }
    plan
}

impl CapacityWrite {
    fn outdated(stored: &StoredCapacity, now: Timestamp) -> Self {
        Self { stored: Some(stored.clone()), object: status::outdated(&stored.object, now) }
    }
}

/// Of several objects of a place the first by name is written; it is the one that counts everywhere.
fn first_by_place(stored: &[StoredCapacity]) -> BTreeMap<Place, &StoredCapacity> {
    let mut first: BTreeMap<Place, &StoredCapacity> = BTreeMap::new();
    for one in stored {
        let known = first.entry(place_of(&one.object)).or_insert(one);
        if (&one.key.name, &one.key.cluster) < (&known.key.name, &known.key.cluster) {
            *known = one;
        }
    }
    first
}

fn zone_writes(
    facts: &ZoneFacts<'_>,
    cycle: &CycleFacts<'_>,
    stored: &BTreeMap<Place, &StoredCapacity>,
) -> Vec<CapacityWrite> {
    let probed: Vec<ProbedGroup> = facts.places.iter().filter_map(|place| place.probed.clone()).collect();
    let mut capacities = zone_capacity(&probed, &facts.hosts).into_iter();
    let mut write = |of: &PlaceFacts<'_>| {
        let place = (of.group.name.clone(), facts.zone.clone());
        let old = stored.get(&place).copied();
        // One capacity for each group that was probed, in their order.
        let capacity = of.probed.as_ref().and_then(|_| capacities.next());
        match (capacity, old) {
            (Some(capacity), old) => {
                let object = ready_object(&place, of, &capacity, cycle, old);
                Some(CapacityWrite { stored: old.cloned(), object })
            }
            (None, old) => old.map(|old| CapacityWrite::outdated(old, cycle.now)),
        }
    };
    facts.places.iter().filter_map(&mut write).collect()
}

fn ready_object(
    place: &Place,
    of: &PlaceFacts<'_>,
    capacity: &GroupCapacity,
    cycle: &CycleFacts<'_>,
    old: Option<&StoredCapacity>,
) -> FlavorGroupCapacity {
    let running = cycle.running.as_ref().map(|running| running.get(place).copied().unwrap_or_default());
    let reserved = cycle.reserved.get(place).copied().unwrap_or_default();
    let numbers = Numbers { group: of.group, capacity, committed_slots: of.committed_slots, running, reserved };
    let object = old.map_or_else(|| new_object(place), |old| (*old.object).clone());
    status::ready(object, &numbers, cycle.now)
}

fn new_object((group, zone): &Place) -> FlavorGroupCapacity {
    let spec = FlavorGroupCapacitySpec { flavor_group: group.to_string(), availability_zone: zone.to_string() };
    FlavorGroupCapacity::new(&names::flavor_group_capacity(group.as_str(), zone.as_str()), spec)
}

fn place_of(object: &FlavorGroupCapacity) -> Place {
    (object.spec.flavor_group.as_str().into(), object.spec.availability_zone.as_str().into())
}

fn places_of<'a>(zone: &'a ZoneFacts<'_>) -> impl Iterator<Item = Place> + 'a {
    zone.places.iter().map(|place| (place.group.name.clone(), zone.zone.clone()))
}

#[cfg(test)]
mod tests;
