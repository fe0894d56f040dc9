//! Plan: the objects to write and to delete, from what was probed and counted in a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_cluster::indexes::rank_in_place;
use berth_core::capacity::{
    GroupCapacity, OccupiedByPlace, ProbedGroup, ProbedHost, ZoneCapacity, committed_slots, zone_capacity,
};
use berth_core::commitment::Spec;
use berth_core::flavor::{FlavorGroup, FlavorGroups};
use berth_core::{GroupName, Resources, Zone};
use berth_crds::{FlavorGroupCapacity, FlavorGroupCapacitySpec, names};
use jiff::Timestamp;

use crate::status::{self, Numbers, Outdated};

/// A flavor group in a zone.
pub type Place = (GroupName, Zone);

/// An object as it is stored.
#[derive(Clone, Debug)]
pub struct StoredCapacity {
    pub key: ObjectKey,
    pub object: Arc<FlavorGroupCapacity>,
}

/// The accepted commitments of each place.
pub type AcceptedByPlace = BTreeMap<Place, Vec<Spec>>;

/// A group in a zone.
#[derive(Clone, Debug)]
pub struct PlaceFacts {
    pub group: GroupName,
    /// `None`: a probe of one of its flavors has failed.
    pub probed: Option<ProbedGroup>,
}

/// A zone whose hosts are known.
#[derive(Clone, Debug)]
pub struct ZoneFacts {
    pub zone: Zone,
    /// In the order of their names.
    pub hosts: Vec<ProbedHost>,
    /// All groups that can be probed.
    pub places: Vec<PlaceFacts>,
}

/// What a cycle has found out.
#[derive(Clone, Debug)]
pub struct CycleFacts {
    pub groups: Arc<FlavorGroups>,
    pub zones: Vec<ZoneFacts>,
    /// Why the hosts, slots or commitments of the other zones are not known.
    pub unreadable: BTreeMap<Zone, String>,
    /// Why the VMs are not known, if they are not.
    pub running: Result<OccupiedByPlace, String>,
    pub reserved: OccupiedByPlace,
    pub accepted: AcceptedByPlace,
    /// All objects there are.
    pub stored: Vec<StoredCapacity>,
    /// Whether the hosts of all clusters are known.
    pub is_complete: bool,
    /// What was absent in the last complete cycle.
    pub absent_before: BTreeSet<Place>,
    pub now: Timestamp,
    /// The time, if it may end commitments.
    pub trusted_now: Option<Timestamp>,
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
    /// What no group gets of the hosts of each zone, with their positions.
    pub left: Vec<(Zone, Vec<(usize, Resources)>)>,
}

/// Every group and zone gets its object. One of a group of which a probe has failed keeps its values and is not ready. Groups
/// that were not probed get no share of the free capacity, so the others may see more than theirs until the next cycle.
///
/// While a cluster cannot be read, zones may seem to be absent: their objects are not ready, and none is deleted.
pub fn plan(facts: &CycleFacts) -> CapacityPlan {
    let stored = first_by_place(&facts.stored);
    let mut plan = CapacityPlan::default();
    for zone in &facts.zones {
        plan.write_zone(zone, facts, &stored);
    }
    for one in &facts.stored {
        plan.follow_up(one, facts);
    }
    plan
}

impl CapacityPlan {
    fn write_zone(&mut self, of: &ZoneFacts, cycle: &CycleFacts, stored: &BTreeMap<Place, &StoredCapacity>) {
        let probed: Vec<ProbedGroup> = of.places.iter().filter_map(|place| place.probed.clone()).collect();
        let ZoneCapacity { groups, left } = zone_capacity(&probed, &of.hosts);
        // One capacity for each group that was probed, in their order.
        let mut capacities = groups.into_iter();
        for PlaceFacts { group, probed } in &of.places {
            let place = (group.clone(), of.zone.clone());
            let old = stored.get(&place).copied();
            let capacity = probed.as_ref().and_then(|_| capacities.next());
            match capacity.zip(cycle.groups.get(group)) {
                Some((capacity, group)) => {
                    let object = ready_object(&place, (group, &capacity), cycle, old);
                    self.writes.push(CapacityWrite { stored: old.cloned(), object });
                }
                None => {
                    self.writes.extend(old.map(|old| CapacityWrite::outdated(old, Outdated::ProbeFailed, cycle.now)));
                }
            }
        }
        self.left.push((of.zone.clone(), left));
    }

    /// What becomes of an object that is not in a place with numbers.
    fn follow_up(&mut self, one: &StoredCapacity, facts: &CycleFacts) {
        let place = place_of(&one.object);
        let is_zone_known = facts.zones.iter().any(|known| known.zone == place.1);
        match facts.groups.get(&place.0).filter(|_| is_zone_known) {
            Some(group) if group.smallest().is_some() => {}
            Some(_) => self.writes.push(CapacityWrite::outdated(one, Outdated::NoFlavor, facts.now)),
            None if facts.is_complete => {
                self.orphans.extend(facts.absent_before.contains(&place).then(|| one.clone()));
                self.absent.insert(place);
            }
            None => {
                let why = facts.unreadable.get(&place.1);
                let why = why.map_or(Outdated::ClusterUnreadable, |why| Outdated::ZoneUnreadable(why));
                self.writes.push(CapacityWrite::outdated(one, why, facts.now));
            }
        }
    }
}

impl CapacityWrite {
    fn outdated(stored: &StoredCapacity, why: Outdated<'_>, now: Timestamp) -> Self {
        Self { stored: Some(stored.clone()), object: status::outdated(&stored.object, why, now) }
    }
}

/// Of several objects of a place only the one that counts is written.
fn first_by_place(stored: &[StoredCapacity]) -> BTreeMap<Place, &StoredCapacity> {
    let mut first: BTreeMap<Place, &StoredCapacity> = BTreeMap::new();
    for one in stored {
        let known = first.entry(place_of(&one.object)).or_insert(one);
        if rank_in_place(&one.key) < rank_in_place(&known.key) {
            *known = one;
        }
    }
    first
}

fn ready_object(
    place: &Place,
    (group, capacity): (&FlavorGroup, &GroupCapacity),
    cycle: &CycleFacts,
    old: Option<&StoredCapacity>,
) -> FlavorGroupCapacity {
    let accepted = cycle.accepted.get(place).into_iter().flatten();
    let committed_slots = committed_slots(accepted, group, &place.1, cycle.trusted_now);
    let running = cycle.running.as_ref().map(|running| running.get(place).copied().unwrap_or_default());
    let reserved = cycle.reserved.get(place).copied().unwrap_or_default();
    let numbers = Numbers { group, capacity, committed_slots, running, reserved };
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

#[cfg(test)]
mod tests;
