//! Prefers small hosts, so that large ones stay free for large VMs (document 60 section 7.1). Small and large are
//! measured among the hosts that the filters have left.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ResourceWeights;
use crate::{
    order::Weighed,
    params::{self, Param},
    row::Figures,
    run::Run,
    steps::{Scores, Weigher},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    resource_weights: BTreeMap<String, f64>,
}

#[derive(Debug)]
struct PreferSmallerHosts {
    weights: ResourceWeights,
}

pub(super) fn load(params: &[Param]) -> Result<Box<dyn Weigher>, String> {
    let Params { resource_weights } = params::decode(params)?;
    let weights = ResourceWeights::new(&resource_weights)?;
    if resource_weights.values().any(|weight| *weight < 0.0) {
        return Err("resource weights must be greater than or equal to zero".to_owned());
    }
    Ok(Box::new(PreferSmallerHosts { weights }))
}

impl Weigher for PreferSmallerHosts {
    fn name(&self) -> &'static str {
        "kvm_prefer_smaller_hosts"
    }

    fn prepare<'r>(&'r self, _: &'r Run<'r>, hosts: &[Weighed<'r>]) -> Scores<'r> {
        let (mut memory, mut cpu) = (Range::EMPTY, Range::EMPTY);
        for capacity in hosts.iter().filter_map(|weighed| weighed.host.seen).map(|seen| seen.row.capacity) {
            memory.add(capacity.memory);
            cpu.add(capacity.cpu);
        }
        if memory.is_point() && cpu.is_point() {
            return Scores::NoEffect;
        }
        Scores::each(move |host| {
            let Some(capacity) = host.seen.map(|seen| seen.row.capacity) else { return 0.0 };
            self.weights.mean(Figures { memory: memory.smallness(capacity.memory), cpu: cpu.smallness(capacity.cpu) })
        })
    }
}

#[derive(Clone, Copy)]
struct Range {
    min: f64,
    max: f64,
}

impl Range {
    const EMPTY: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY };

    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
    }

    /// True when no two hosts differ.
    fn is_point(self) -> bool {
        self.min >= self.max
    }

    /// 1 for the smallest, 0 for the largest.
    fn smallness(self, value: Option<f64>) -> Option<f64> {
        value.filter(|_| !self.is_point()).map(|value| 1.0 - (value - self.min) / (self.max - self.min))
    }
}
