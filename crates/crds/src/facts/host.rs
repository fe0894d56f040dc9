//! A Hypervisor as a host.

use std::collections::BTreeMap;

use berth_core::host::{Aggregate, Amounts, Capabilities, Host};
use berth_core::{Bytes, ClusterName, Cores, Quantity};
use kube::ResourceExt;

use super::values::status;
use crate::{self as crds, Hypervisor, HypervisorStatus, labels, resources};

/// Which way a fraction goes.
type Round = fn(Quantity) -> i64;

/// The host, as the cluster `cluster` shows it.
pub fn host(cluster: &ClusterName, object: &Hypervisor) -> Host {
    let empty = HypervisorStatus::default();
    let state = object.status.as_ref().unwrap_or(&empty);
    let mut invalid_amount = FirstInvalidAmount::default();
    let effective = invalid_amount.amounts("effectiveCapacity", &state.effective_capacity, Quantity::round_down);
    let physical = invalid_amount.amounts("capacity", &state.capacity, Quantity::round_down);
    let allocation = invalid_amount.amounts("allocation", &state.allocation, Quantity::round_up);
    Host {
        cluster: cluster.clone(),
        name: object.name_any().into(),
        zone: object.labels().get(labels::ZONE).map(String::as_str).unwrap_or_default().into(),
        capacity: if state.effective_capacity.is_empty() { physical } else { effective },
        effective_capacity: effective,
        allocation,
        invalid_amount: invalid_amount.text,
        instances: state.instances.iter().map(|vm| (vm.id.as_str().into(), vm.active)).collect(),
        traits: traits(object, state),
        aggregates: aggregates(object, state),
        allowed_projects: object.spec.allowed_projects.iter().map(|project| project.as_str().into()).collect(),
        conditions: conditions(state),
        capabilities: capabilities(state),
    }
}

/// Remembers the first amount that makes no sense, in words.
#[derive(Default)]
struct FirstInvalidAmount {
    text: Option<String>,
}

impl FirstInvalidAmount {
    fn amounts(&mut self, field: &str, map: &BTreeMap<String, crds::Quantity>, round: Round) -> Amounts {
        Amounts {
            memory: self.amount(field, resources::MEMORY, map, round).map(Bytes::new),
            cpu: self.amount(field, resources::CPU, map, round).map(Cores::new),
        }
    }

    fn amount(&mut self, field: &str, name: &str, map: &BTreeMap<String, crds::Quantity>, round: Round) -> Option<i64> {
        let text = map.get(name)?.as_str();
        let amount = Quantity::parse(text).ok().filter(|quantity| !quantity.is_negative());
        if amount.is_none() && self.text.is_none() {
            self.text = Some(format!("status.{field}.{name} is {text:?}"));
        }
        amount.map(round)
    }
}

/// Union of what is applied, what Placement wrote and what operators added.
fn traits(object: &Hypervisor, state: &HypervisorStatus) -> std::collections::BTreeSet<String> {
    let groups = object.spec.groups.iter().filter_map(|group| Some(&group.trait_.as_ref()?.name));
    state.traits.iter().chain(&object.spec.custom_traits).chain(groups).cloned().collect()
}

/// Union of what is applied and what Placement wrote.
fn aggregates(object: &Hypervisor, state: &HypervisorStatus) -> Vec<Aggregate> {
    let applied = state.aggregates.iter().map(|aggregate| (&aggregate.uuid, &aggregate.metadata));
    let groups = object.spec.groups.iter().filter_map(|group| group.aggregate.as_ref());
    let wanted = groups.map(|aggregate| (&aggregate.uuid, &aggregate.metadata));
    let mut all: Vec<Aggregate> = Vec::new();
    for (uuid, metadata) in applied.chain(wanted) {
        match all.iter_mut().find(|aggregate| aggregate.uuid == *uuid) {
            Some(known) => known.metadata.extend(metadata.clone()),
            None => all.push(Aggregate { uuid: uuid.clone(), metadata: metadata.clone() }),
        }
    }
    all
}

fn conditions(state: &HypervisorStatus) -> BTreeMap<String, berth_core::host::ConditionStatus> {
    let newest_last = state.conditions.iter().rev();
    newest_last.map(|condition| (condition.type_.clone(), status(condition))).collect()
}

fn capabilities(state: &HypervisorStatus) -> Capabilities {
    let domain = state.domain_capabilities.as_ref();
    let list = |values: Option<&Vec<String>>| values.into_iter().flatten().cloned().collect();
    Capabilities {
        cpu_arch: state.capabilities.as_ref().map(|host| host.cpu_arch.clone()).unwrap_or_default(),
        hypervisor_type: domain.map(|domain| domain.hypervisor_type.clone()).unwrap_or_default(),
        cpu_modes: list(domain.map(|domain| &domain.supported_cpu_modes)),
        features: list(domain.map(|domain| &domain.supported_features)),
        devices: list(domain.map(|domain| &domain.supported_devices)),
    }
}
