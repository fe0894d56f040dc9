//! Keeps a server group with policy `affinity` on the hosts that it is on.

use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};
use crate::{FilterName, Intent};

#[derive(Debug)]
pub(super) struct InstanceGroupAffinity;

impl Filter for InstanceGroupAffinity {
    fn name(&self) -> FilterName {
        FilterName::new("filter_instance_group_affinity", "affinity")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
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
