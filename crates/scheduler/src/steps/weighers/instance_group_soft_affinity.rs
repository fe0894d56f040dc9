//! Places the VMs of a server group together or apart where possible.

use crate::feasible_hosts::FeasibleHosts;
use crate::params::{self, NoParams, Param};
use crate::run::Run;
use crate::steps::{Made, Scores, Weigher};

#[derive(Debug)]
pub(super) struct InstanceGroupSoftAffinity;

pub(super) fn load(params: &[Param]) -> Made<dyn Weigher> {
    params::decode::<NoParams>(params).map(|NoParams {}| Box::new(InstanceGroupSoftAffinity) as Box<dyn Weigher>)
}

impl Weigher for InstanceGroupSoftAffinity {
    fn name(&self) -> &'static str {
        "kvm_instance_group_soft_affinity"
    }

    fn statistic(&self) -> Option<&'static str> {
        Some("affinity")
    }

    fn weigh(&self, run: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores {
        let Some(group) = run.request.group.as_ref().filter(|group| !group.members.is_empty()) else {
            return Scores::NoEffect;
        };
        let factor = match group.policy.as_str() {
            "soft-affinity" => 1.0,
            "soft-anti-affinity" => -1.0,
            _ => return Scores::NoEffect,
        };
        let members = run.fleet.columns().members_on(&group.members);
        let count = |id| members.get(&id).map_or(0, |count| u32::try_from(*count).unwrap_or(u32::MAX));
        Scores::Each(hosts.score(|id| factor * f64::from(count(id))))
    }
}
