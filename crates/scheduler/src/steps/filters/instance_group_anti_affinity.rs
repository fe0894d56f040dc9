//! Keeps the VMs of a server group with policy `anti-affinity` apart.

use berth_capacity_view::HostSet;
use serde_json::Value;

use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};
use crate::{FilterName, InstanceGroup, Intent};

#[derive(Debug)]
pub(super) struct InstanceGroupAntiAffinity;

impl Filter for InstanceGroupAntiAffinity {
    fn name(&self) -> FilterName {
        FilterName::new("filter_instance_group_anti_affinity", "anti-affinity")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let group = run.request.group.as_ref();
        let group = group.filter(|group| group.policy == "anti-affinity" && !group.members.is_empty());
        match group {
            Some(group) if !run.is_for(&Intent::NOT_A_VM_OR_SLOT) => {
                field.drop(&full(run, group));
                Ok(Effect::Done)
            }
            _ => Ok(Effect::Skipped),
        }
    }
}

/// The hosts that have as many members as they may. A resize may stay where the VM is.
fn full(run: &Run<'_>, group: &InstanceGroup) -> HostSet {
    let limit = max_per_host(group);
    let members = run.fleet.columns().members_on(&group.members);
    let mut full: HostSet = members.into_iter().filter(|(_, count)| *count >= limit).map(|(id, _)| id).collect();
    for own in run.fleet.columns().hosts_of(&run.request.instance) {
        full.remove(*own);
    }
    full
}

/// A number or, as Nova sends it, a numeric string; anything else, and 0, means 1.
fn max_per_host(group: &InstanceGroup) -> u64 {
    let rule = group.rules.get("max_server_per_host");
    let number = rule.and_then(|value| match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    });
    number.unwrap_or(1).max(1)
}
