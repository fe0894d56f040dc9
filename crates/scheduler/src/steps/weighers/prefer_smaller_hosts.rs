//! Prefers small hosts, so that large ones stay free for large VMs. Sizes are compared among the feasible hosts.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::feasible_hosts::FeasibleHosts;
use crate::params::{self, Param};
use crate::run::Run;
use crate::steps::{Made, ResourceWeights, Scores, StepError, Weigher};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    resource_weights: BTreeMap<String, f64>,
}

#[derive(Debug)]
struct PreferSmallerHosts {
    weights: ResourceWeights,
}

pub(super) fn load(params: &[Param]) -> Made<dyn Weigher> {
    let Params { resource_weights } = params::decode(params)?;
    let weights = ResourceWeights::new(&resource_weights)?;
    if resource_weights.values().any(|weight| *weight < 0.0) {
        return Err(StepError::NegativeResourceWeight);
    }
    Ok(Box::new(PreferSmallerHosts { weights }))
}

impl Weigher for PreferSmallerHosts {
    fn name(&self) -> &'static str {
        "kvm_prefer_smaller_hosts"
    }

    fn statistic(&self) -> Option<&'static str> {
        Some("small host score")
    }

    fn weigh(&self, run: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores {
        let columns = run.fleet.columns();
        let (mut memory, mut cpu) = (Range::EMPTY, Range::EMPTY);
        for capacity in hosts.known.iter().map(|id| columns.capacity(*id)) {
            memory.add(capacity.memory);
            cpu.add(capacity.cpu);
        }
        if memory.is_point() && cpu.is_point() {
            return Scores::NoEffect;
        }
        let (memory, cpu) = (memory.ruler(), cpu.ruler());
        Scores::Each(self.weights.mean(
            hosts,
            |id| memory(columns.capacity(id).memory),
            |id| cpu(columns.capacity(id).cpu),
        ))
    }
}

#[derive(Clone, Copy)]
struct Range {
    min: f64,
    max: f64,
}

impl Range {
    const EMPTY: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY };

    /// An unknown value is NaN, which neither minimum nor maximum takes.
    fn add(&mut self, value: f64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// True when no two hosts differ.
    fn is_point(self) -> bool {
        self.min >= self.max
    }

    /// Measures: 1 for the smallest, 0 for the largest, NaN without a range.
    fn ruler(self) -> impl Fn(f64) -> f64 {
        let length = if self.is_point() { f64::NAN } else { self.max - self.min };
        move |value| 1.0 - (value - self.min) / length
    }
}
