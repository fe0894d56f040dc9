//! Sends an evacuated VM to its fail-over slot (document 60 section 7.4). Hosts with such a slot come before all
//! others, whatever the rest of the pipeline prefers (B15).

use std::collections::BTreeSet;

use berth_core::HostName;
use serde::Deserialize;

use crate::{
    Intent,
    fleet::Candidate,
    order::Weighed,
    params::{self, Param},
    run::Run,
    steps::{Scores, Weigher},
};

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct FailoverEvacuation {
    failover_host_weight: f64,
    default_host_weight: f64,
}

impl Default for FailoverEvacuation {
    fn default() -> Self {
        Self { failover_host_weight: 1.0, default_host_weight: 0.1 }
    }
}

pub(super) fn load(params: &[Param]) -> Result<Box<dyn Weigher>, String> {
    Ok(Box::new(params::decode::<FailoverEvacuation>(params)?))
}

impl Weigher for FailoverEvacuation {
    fn name(&self) -> &'static str {
        "kvm_failover_evacuation"
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>, _: &[Weighed<'r>]) -> Scores<'r> {
        if !run.is_for(&[Intent::Evacuate]) {
            return Scores::NoEffect;
        }
        let slots = run.fleet.view.failovers_for(&run.request.instance);
        let own: BTreeSet<&HostName> = slots.filter_map(|slot| slot.status_host.as_ref()).collect();
        let tier = own.clone();
        let weight = move |host: &Candidate<'r>| {
            if own.contains(host.name) { self.failover_host_weight } else { self.default_host_weight }
        };
        Scores::Tiered(Box::new(weight), Box::new(move |host| tier.contains(host.name)))
    }
}
