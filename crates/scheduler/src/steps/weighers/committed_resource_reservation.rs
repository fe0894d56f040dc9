//! Prefers hosts with a free slot of the VM's project. Nova sends no group as a hint, so the group comes from the
//! flavor.

use berth_core::reservation::Reservation;
use berth_core::{Bytes, GroupName};
use serde::Deserialize;

use crate::Intent;
use crate::feasible_hosts::FeasibleHosts;
use crate::params::{self, Param};
use crate::request::HW_VERSION;
use crate::run::Run;
use crate::steps::question::RESOURCE_GROUP;
use crate::steps::{Made, Scores, Weigher};

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct CommittedResourceReservation {
    reservation_host_weight: f64,
    default_host_weight: f64,
}

impl Default for CommittedResourceReservation {
    fn default() -> Self {
        Self { reservation_host_weight: 1.0, default_host_weight: 0.1 }
    }
}

pub(super) fn load(params: &[Param]) -> Made<dyn Weigher> {
    Ok(Box::new(params::decode::<CommittedResourceReservation>(params)?))
}

impl Weigher for CommittedResourceReservation {
    fn name(&self) -> &'static str {
        "kvm_committed_resource_reservation"
    }

    fn weigh(&self, run: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores {
        let Some(group) = group(run) else { return Scores::NoEffect };
        let slots = run.fleet.view.slots_of(&run.request.project, &group);
        let good = slots.filter(|slot| slot.zone == run.request.zone && unused_memory(slot) >= run.request.size.memory);
        let places = hosts.places(good.filter_map(|slot| slot.status_host.as_ref()));
        let Self { reservation_host_weight: here, default_host_weight: elsewhere } = *self;
        Scores::Few { places, here, elsewhere, first: false }
    }
}

fn group(run: &Run<'_>) -> Option<GroupName> {
    if run.is_for(&[Intent::ReserveForFailover]) {
        return None;
    }
    let from_flavor = !run.is_for(&[Intent::ReserveForCommittedResource, Intent::CapacityProbe]);
    let flavor = run.extra_spec(HW_VERSION).filter(|_| from_flavor);
    let name = run.request.hints.get(RESOURCE_GROUP).ok().or(flavor)?;
    (!name.is_empty()).then(|| GroupName::new(name))
}

/// The memory of a slot that no VM is expected in.
fn unused_memory(slot: &Reservation) -> Bytes {
    slot.size.memory - slot.expected().map(|(_, size)| size.memory).sum()
}
