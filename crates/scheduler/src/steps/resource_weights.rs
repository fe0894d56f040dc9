//! How much memory and cores count for a weigher.

use std::collections::BTreeMap;

use berth_capacity_view::HostId;

use crate::feasible_hosts::FeasibleHosts;
use crate::steps::StepError;

/// How much each resource counts; `None` for a resource that does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResourceWeights {
    memory: Option<f64>,
    cpu: Option<f64>,
}

impl ResourceWeights {
    pub(crate) fn new(weights: &BTreeMap<String, f64>) -> Result<Self, StepError> {
        if weights.is_empty() {
            return Err(StepError::NoResourceWeights);
        }
        if let Some(other) = weights.keys().find(|key| !["memory", "cpu"].contains(&key.as_str())) {
            return Err(StepError::UnknownResource(other.clone()));
        }
        Ok(Self { memory: weights.get("memory").copied(), cpu: weights.get("cpu").copied() })
    }

    /// For each host the weighted mean of its values; 0 without any. An unknown value is NaN.
    pub(crate) fn mean(
        self,
        hosts: &FeasibleHosts<'_>,
        memory: impl Fn(HostId) -> f64,
        cpu: impl Fn(HostId) -> f64,
    ) -> Vec<f64> {
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
