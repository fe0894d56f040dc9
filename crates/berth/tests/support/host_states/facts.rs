//! What counts of a Hypervisor and of a Reservation, and what Reservations take on a host.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{RESOURCES, amounts};

/// How one resource of a host is used, in nano units.
#[derive(Clone, Copy, Default)]
pub struct Use {
    pub capacity: Option<i128>,
    vms: i128,
    blocked: i128,
}

impl Use {
    pub fn excess(&self) -> i128 {
        self.capacity.map_or(0, |capacity| (self.vms + self.blocked - capacity).max(0))
    }

    pub fn describe(&self, resource: &str) -> String {
        let [capacity, vms, blocked] =
            [self.capacity.unwrap_or_default(), self.vms, self.blocked].map(|amount| amounts::format(resource, amount));
        format!("it has {capacity}, VMs use {vms}, Reservations block {blocked}")
    }
}

pub struct Host {
    capacity: [Option<i128>; 2],
    allocation: [i128; 2],
    instances: BTreeSet<String>,
}

impl Host {
    pub fn of(hypervisor: &Value) -> Self {
        let status = &hypervisor["status"];
        let has_entries = status["effectiveCapacity"].as_object().is_some_and(|map| !map.is_empty());
        let capacity = &status[if has_entries { "effectiveCapacity" } else { "capacity" }];
        let instances = status["instances"].as_array().into_iter().flatten();
        Self {
            capacity: RESOURCES.map(|resource| amounts::in_map(capacity, resource)),
            allocation: all(&status["allocation"]),
            instances: instances.filter_map(|vm| Some(vm["id"].as_str()?.to_owned())).collect(),
        }
    }

    /// How it is used with these Reservations, which name it, in the order of their names.
    pub fn used_by<'a>(&self, reservations: impl Iterator<Item = &'a Taken>) -> [Use; 2] {
        let (mut blocked, mut counted) = ([0; 2], BTreeSet::new());
        for reservation in reservations {
            add(&mut blocked, &self.block(reservation, &mut counted));
        }
        std::array::from_fn(|at| Use { capacity: self.capacity[at], vms: self.allocation[at], blocked: blocked[at] })
    }

    fn block<'a>(&self, reservation: &'a Taken, counted: &mut BTreeSet<&'a str>) -> [i128; 2] {
        let (mut here, mut to_come) = ([0; 2], [0; 2]);
        for (vm, size) in &reservation.vms {
            if !self.instances.contains(vm) {
                add(&mut to_come, size);
            } else if counted.insert(vm) {
                add(&mut here, size);
            }
        }
        std::array::from_fn(|at| (reservation.size[at] - here[at]).max(0).max(to_come[at]))
    }
}

/// A Reservation as far as it takes capacity.
pub struct Taken {
    size: [i128; 2],
    target: Option<String>,
    in_force: Option<String>,
    /// The VMs of a slot.
    vms: BTreeMap<String, [i128; 2]>,
}

impl Taken {
    pub fn of(reservation: &Value) -> Self {
        let spec = &reservation["spec"];
        let vms = match spec["type"].as_str() {
            Some("CommittedResourceReservation") => spec["committedResourceReservation"]["allocations"].as_object(),
            _ => None,
        };
        let name = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        Self {
            size: all(&spec["resources"]),
            target: name(&spec["targetHost"]),
            in_force: name(&reservation["status"]["host"]),
            vms: vms.into_iter().flatten().map(|(vm, data)| (vm.clone(), all(&data["resources"]))).collect(),
        }
    }

    /// The hosts on which it takes capacity.
    pub fn hosts(&self) -> impl Iterator<Item = &String> {
        let also = self.in_force.as_ref().filter(|_| self.target.is_some() && self.target != self.in_force);
        self.target.iter().chain(also)
    }
}

fn all(map: &Value) -> [i128; 2] {
    RESOURCES.map(|resource| amounts::in_map(map, resource).unwrap_or_default())
}

fn add(sum: &mut [i128; 2], size: &[i128; 2]) {
    sum.iter_mut().zip(size).for_each(|(sum, size)| *sum += size);
}
