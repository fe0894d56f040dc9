//! The properties of one host that filters need, computed when its Hypervisor changes and not for each request.
//! [`crate::columns`] stores them for all hosts.

use std::collections::BTreeSet;

use berth_core::ProjectId;
use berth_core::host::{Amounts, ConditionStatus, Host};

/// The type of a host that flavors can request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HypervisorType {
    Ch,
    Qemu,
    #[default]
    Unknown,
}

impl HypervisorType {
    pub(crate) fn of(host: &Host) -> Self {
        match host.capabilities.hypervisor_type.as_str() {
            "ch" => Self::Ch,
            "kvm" => Self::Qemu,
            _ => Self::Unknown,
        }
    }
}

/// Amounts as numbers for weights, NaN for unknown values; beyond 2^53 the last bits do not matter for a ranking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostFigures {
    pub(crate) memory: f64,
    pub(crate) cpu: f64,
}

impl HostFigures {
    pub(crate) const UNKNOWN: Self = Self { memory: f64::NAN, cpu: f64::NAN };
}

impl From<Amounts> for HostFigures {
    #[expect(clippy::cast_precision_loss, reason = "a ranking needs no exact bytes")]
    fn from(amounts: Amounts) -> Self {
        Self {
            memory: amounts.memory.map_or(f64::NAN, |memory| memory.get() as f64),
            cpu: amounts.cpu.map_or(f64::NAN, |cpu| cpu.get() as f64),
        }
    }
}

/// The conditions allow VMs. A host that is still being set up has no `Ready` condition yet, but the condition
/// `Onboarding`.
pub(crate) fn in_service(host: &Host) -> bool {
    let status = |name: &str| host.conditions.get(name).copied();
    let ready = match status("Ready") {
        Some(ready) => ready == ConditionStatus::True,
        None => matches!(status("Onboarding"), None | Some(ConditionStatus::False)),
    };
    ready
        && ["HypervisorDisabled", "Terminating"]
            .iter()
            .all(|name| matches!(status(name), None | Some(ConditionStatus::False)))
}

/// The projects that the aggregates of a host admit; empty means all.
pub(crate) fn tenants(host: &Host) -> BTreeSet<ProjectId> {
    let metadata = host.aggregates.iter().flat_map(|aggregate| &aggregate.metadata);
    let lists = metadata.filter(|(key, _)| key.starts_with("filter_tenant_id")).map(|(_, value)| value);
    let projects = lists.flat_map(|list| list.split(',')).map(str::trim).filter(|project| !project.is_empty());
    projects.map(ProjectId::from).collect()
}
