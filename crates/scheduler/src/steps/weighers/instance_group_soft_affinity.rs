//! Draws the VMs of a server group together or apart, without insisting (document 60 section 7.3).

use crate::{
    order::Weighed,
    run::Run,
    steps::{Scores, Weigher},
};

#[derive(Debug)]
pub(super) struct InstanceGroupSoftAffinity;

impl Weigher for InstanceGroupSoftAffinity {
    fn name(&self) -> &'static str {
        "kvm_instance_group_soft_affinity"
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>, _: &[Weighed<'r>]) -> Scores<'r> {
        let Some(group) = run.request.group.as_ref().filter(|group| !group.members.is_empty()) else {
            return Scores::NoEffect;
        };
        let factor = match group.policy.as_str() {
            "soft-affinity" => 1.0,
            "soft-anti-affinity" => -1.0,
            _ => return Scores::NoEffect,
        };
        Scores::each(move |host| {
            let Some(seen) = host.seen else { return 0.0 };
            let instances = &seen.host().instances;
            let here = group.members.iter().filter(|member| instances.contains_key(*member)).count();
            factor * f64::from(u32::try_from(here).unwrap_or(u32::MAX))
        })
    }
}
