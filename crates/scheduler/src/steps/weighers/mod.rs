//! The weighers for KVM hosts (document 60 section 7), one per file, and which name means which. The VMware-only
//! ones are unknown here.

mod binpack;
mod committed_resource_reservation;
mod failover_evacuation;
mod failover_reservation_consolidation;
mod instance_group_soft_affinity;
mod prefer_smaller_hosts;

use std::collections::BTreeMap;

use berth_capacity_view::HostId;

use super::{StepFault, Weigher};
use crate::{
    params::{self, NoParams, Param},
    survivors::Survivors,
};

/// The hint that names the flavor group of the request.
const RESOURCE_GROUP: &str = "_cortex_resource_group";

/// The weigher of that name; `None` when it is unknown, an error when its parameters are wrong.
pub(crate) fn load(name: &str, params: &[Param]) -> Option<Result<Box<dyn Weigher>, StepFault>> {
    Some(match name {
        "kvm_prefer_smaller_hosts" => prefer_smaller_hosts::load(params),
        "kvm_binpack" => binpack::load(params),
        "kvm_failover_evacuation" => failover_evacuation::load(params),
        "kvm_committed_resource_reservation" => committed_resource_reservation::load(params),
        "kvm_failover_reservation_consolidation" => failover_reservation_consolidation::load(params),
        "kvm_instance_group_soft_affinity" => params::decode::<NoParams>(params)
            .map(|NoParams {}| Box::new(instance_group_soft_affinity::InstanceGroupSoftAffinity) as Box<dyn Weigher>),
        _ => return None,
    })
}

/// How much each resource counts; `None` for a resource that does not count.
#[derive(Clone, Copy, Debug, Default)]
struct ResourceWeights {
    memory: Option<f64>,
    cpu: Option<f64>,
}

impl ResourceWeights {
    fn new(weights: &BTreeMap<String, f64>) -> Result<Self, StepFault> {
        if weights.is_empty() {
            return Err(StepFault::NoResourceWeights);
        }
        if let Some(other) = weights.keys().find(|key| !["memory", "cpu"].contains(&key.as_str())) {
            return Err(StepFault::UnknownResource(other.clone()));
        }
        Ok(Self { memory: weights.get("memory").copied(), cpu: weights.get("cpu").copied() })
    }

    /// For each host the weighted mean of what there is a value for; 0 without any. A value that is not known is NaN.
    fn mean(self, hosts: &Survivors<'_>, memory: impl Fn(HostId) -> f64, cpu: impl Fn(HostId) -> f64) -> Vec<f64> {
        let known = |value: f64| if value.is_nan() { 0.0 } else { value };
        // The mean of one value is that value, without two roundings and a division for every host.
        match (self.memory.filter(|weight| *weight > 0.0), self.cpu.filter(|weight| *weight > 0.0)) {
            (Some(_), None) => hosts.score(|id| known(memory(id))),
            (None, Some(_)) => hosts.score(|id| known(cpu(id))),
            (None, None) => hosts.score(|_| 0.0),
            (Some(of_memory), Some(of_cpu)) => hosts.score(|id| match (memory(id), cpu(id)) {
                (memory, cpu) if cpu.is_nan() => known(memory),
                (memory, cpu) if memory.is_nan() => cpu,
                (memory, cpu) => (of_memory * memory + of_cpu * cpu) / (of_memory + of_cpu),
            }),
        }
    }
}
