//! The amount of a commitment, formatted.

use berth_core::commitment::{ResourceType, Spec};
use serde::Serialize;

use crate::commands::amounts::Amounts;

/// An amount of something somewhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Claim {
    pub(super) resource: &'static str,
    /// Only the amount of its resource is set.
    pub(super) amount: Amounts,
    pub(super) group: String,
    pub(super) zone: String,
}

pub(super) fn claim(spec: &Spec) -> Claim {
    let units = spec.amount.round_up();
    let (resource, amount) = match spec.resource {
        ResourceType::Memory => ("memory", Amounts { memory: Some(units), cpu: None }),
        ResourceType::Cores => ("cores", Amounts { memory: None, cpu: Some(units) }),
    };
    Claim { resource, amount, group: spec.group.to_string(), zone: spec.zone.to_string() }
}

pub(super) fn amount(spec: &Spec) -> String {
    claim(spec).describe()
}

impl Claim {
    pub(super) fn describe(&self) -> String {
        let amount = match self.resource {
            "memory" => format!("{} of memory", self.amount.memory()),
            _ => format!("{} cores", self.amount.cpu()),
        };
        format!("{amount} of {} in {}", self.group, self.zone)
    }
}
