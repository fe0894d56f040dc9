//! The same request decided with the algorithm of the reference: every step lists and copies all hosts, the capacity
//! step all reservations as well, and every block is built again. The decisions agree for the requests here; only the
//! time is measured.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::host::{ConditionStatus, Host};
use berth_core::reservation::Reservation;
use berth_core::{HostName, Resources, SlotKey, block};
use berth_scheduler::SlotRequest;

/// The content of a watch cache.
#[derive(Clone, Debug)]
pub struct Cache {
    pub hosts: Vec<Host>,
    pub reservations: BTreeMap<SlotKey, Reservation>,
}

impl Cache {
    /// Copies out of the cache, then moved through two more lists, as the reference merges clusters.
    fn hosts(&self) -> Vec<Host> {
        let of_cluster = self.hosts.clone();
        let merged: Vec<Box<Host>> = of_cluster.into_iter().map(Box::new).collect();
        merged.into_iter().map(|host| *host).collect()
    }

    fn reservations(&self) -> Vec<Reservation> {
        let of_cluster: Vec<Reservation> = self.reservations.values().cloned().collect();
        let merged: Vec<Box<Reservation>> = of_cluster.into_iter().map(Box::new).collect();
        merged.into_iter().map(|reservation| *reservation).collect()
    }

    pub fn decide(&self, slot: &SlotRequest) -> Vec<HostName> {
        let mut left: BTreeSet<HostName> = self.hosts().into_iter().map(|host| host.name).collect();
        let mut step = |keep: &dyn Fn(&Host) -> bool| {
            let kept: BTreeSet<HostName> = self.hosts().into_iter().filter(keep).map(|host| host.name).collect();
            left.retain(|host| kept.contains(host));
        };
        let specs = &slot.flavor.extra_specs;
        step(&|host| host.conditions.get("Ready") == Some(&ConditionStatus::True));
        step(&|host| host.zone == slot.zone);
        step(&|host| host.capabilities.hypervisor_type == "ch" && host.capabilities.cpu_arch == "x86_64");
        step(&|host| {
            let mut traits = specs.iter().filter_map(|(key, desired)| Some((key.strip_prefix("trait:")?, desired)));
            traits.all(|(name, desired)| host.traits.contains(name) == (desired == "required"))
        });
        let free_capacities = self.free_capacities();
        step(&|host| free_capacities.get(&host.name).is_some_and(|capacity| slot.size.fits(*capacity)));
        step(&|host| host.allowed_projects.is_empty() || host.allowed_projects.contains(&slot.project));
        step(&|host| {
            let lists = host.aggregates.iter().filter_map(|aggregate| aggregate.metadata.get("filter_tenant_id"));
            let projects: Vec<&str> = lists.flat_map(|list| list.split(',')).map(str::trim).collect();
            projects.is_empty() || projects.contains(&slot.project.as_str())
        });
        self.weigh(&left, slot.size)
    }

    fn free_capacities(&self) -> BTreeMap<HostName, Resources> {
        let reservations = self.reservations();
        let mut on: BTreeMap<&HostName, Vec<&Reservation>> = BTreeMap::new();
        for reservation in &reservations {
            for host in reservation.hosts() {
                on.entry(host).or_default().push(reservation);
            }
        }
        let capacity = |host: Host| {
            let blocks = block::blocks_on(&host, on.get(&host.name).into_iter().flatten().copied());
            Some((host.name.clone(), block::free(&host, blocks.iter().map(|(_, block)| block)).known()?))
        };
        self.hosts().into_iter().filter_map(capacity).collect()
    }

    /// Small hosts first, then empty ones.
    #[expect(clippy::cast_precision_loss, reason = "weights are approximate")]
    fn weigh(&self, left: &BTreeSet<HostName>, size: Resources) -> Vec<HostName> {
        let memory = |amount: Option<berth_core::Bytes>| amount.unwrap_or_default().get() as f64;
        let listed = || self.hosts().into_iter().filter(|host| left.contains(&host.name)).collect::<Vec<_>>();
        let hosts = listed();
        let capacities = || hosts.iter().map(|host| memory(host.effective_capacity.memory));
        let (least, most) = (capacities().fold(f64::MAX, f64::min), capacities().fold(0.0, f64::max));
        let small =
            capacities().map(|capacity| if most > least { 1.0 - (capacity - least) / (most - least) } else { 0.0 });
        let small: Vec<f64> = small.map(f64::tanh).collect();
        let full = listed().into_iter().map(|host| {
            let used = memory(host.allocation.memory) + size.memory.get() as f64;
            (used / memory(host.effective_capacity.memory)).tanh()
        });
        let mut ranked: Vec<(f64, HostName)> = small
            .iter()
            .zip(full)
            .zip(hosts.iter())
            .map(|((small, full), host)| (small - full, host.name.clone()))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        ranked.into_iter().map(|(_, name)| name).collect()
    }
}
