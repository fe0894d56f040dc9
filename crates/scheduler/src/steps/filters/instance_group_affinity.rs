//! Keeps a server group with policy `affinity` on the hosts that it is on.

use crate::field::Field;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepFault};
use crate::{FilterName, Intent};

#[derive(Debug)]
pub(super) struct InstanceGroupAffinity;

impl Filter for InstanceGroupAffinity {
    fn name(&self) -> FilterName {
        FilterName::new("filter_instance_group_affinity", "affinity")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut Field<'_>) -> Result<Effect, StepFault> {
        let group = run.request.group.as_ref().filter(|group| group.policy == "affinity" && !group.hosts.is_empty());
        match group {
            Some(group) if !run.is_for(&Intent::NOT_A_VM_OR_SLOT) => {
                field.keep_named(run, &group.hosts.iter());
                Ok(Effect::Done)
            }
            _ => Ok(Effect::Skipped),
        }
    }
}
