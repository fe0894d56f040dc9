//! Keeps the VMs of a server group with policy `anti-affinity` apart (document 60 section 5.10, B12).

use serde_json::Value;

use crate::{
    FilterName, InstanceGroup,
    fleet::Seen,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct InstanceGroupAntiAffinity;

impl Filter for InstanceGroupAntiAffinity {
    fn name(&self) -> FilterName {
        super::name("filter_instance_group_anti_affinity", "anti-affinity")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let group = run.request.group.as_ref();
        let group = group.filter(|group| group.policy == "anti-affinity" && !group.members.is_empty());
        match group {
            Some(group) if !run.is_for(&super::NOT_A_VM_OR_SLOT) => {
                let limit = max_per_host(group);
                Ok(Check::keep(move |candidate| {
                    candidate.seen.is_some_and(|seen| has_own_vm(run, &seen) || members_on(group, &seen) < limit)
                }))
            }
            _ => Ok(Check::Skip),
        }
    }
}

/// A resize may stay where the VM is.
fn has_own_vm(run: &Run<'_>, seen: &Seen<'_>) -> bool {
    seen.host().instances.contains_key(&run.request.instance)
}

fn members_on(group: &InstanceGroup, seen: &Seen<'_>) -> u64 {
    let instances = &seen.host().instances;
    group.members.iter().map(|member| u64::from(instances.contains_key(member))).sum()
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
