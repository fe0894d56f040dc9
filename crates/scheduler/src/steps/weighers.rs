//! The weighers for KVM hosts, one per file, and which name means which. The VMware-only ones are unknown here.

mod binpack;
mod committed_resource_reservation;
mod failover_evacuation;
mod failover_reservation_consolidation;
mod instance_group_soft_affinity;
mod prefer_smaller_hosts;

use super::{Made, Weigher};
use crate::params::Param;

/// A weigher that pipelines can name.
pub(crate) struct WeigherKind {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    /// Its parameters and their types, for docs/scheduler.md.
    pub(crate) parameters: &'static str,
    load: fn(&[Param]) -> Made<dyn Weigher>,
}

/// All weighers: another one is its file and its line here.
pub(crate) const ALL: [WeigherKind; 6] = [
    WeigherKind {
        name: "kvm_prefer_smaller_hosts",
        does: "prefers small hosts, so that large ones stay free for large VMs",
        parameters: "`resourceWeights`: map of `memory` and `cpu`, 0 or more",
        load: prefer_smaller_hosts::load,
    },
    WeigherKind {
        name: "kvm_binpack",
        does: "prefers hosts that are fuller with the VM on them; with a negative multiplier it spreads",
        parameters: "`resourceWeights`: map of `memory` and `cpu`, above 0; `considerReservations`: bool",
        load: binpack::load,
    },
    WeigherKind {
        name: "kvm_failover_evacuation",
        does: "sends an evacuated VM to its fail-over slot; hosts with one come before all others",
        parameters: "`failoverHostWeight`, `defaultHostWeight`: float",
        load: failover_evacuation::load,
    },
    WeigherKind {
        name: "kvm_committed_resource_reservation",
        does: "sends a VM to a host with a free slot of its project",
        parameters: "`reservationHostWeight`, `defaultHostWeight`: float",
        load: committed_resource_reservation::load,
    },
    WeigherKind {
        name: "kvm_failover_reservation_consolidation",
        does: "gathers fail-over slots on few hosts, but not those of one group on one host",
        parameters: "`totalCountWeight`, `sameSpecPenalty`: float; the penalty is less than the weight",
        load: failover_reservation_consolidation::load,
    },
    WeigherKind {
        name: "kvm_instance_group_soft_affinity",
        does: "draws the VMs of a server group together or apart, without insisting",
        parameters: "",
        load: instance_group_soft_affinity::load,
    },
];

/// The weigher of that name; `None` when it is unknown, an error when its parameters are wrong.
pub(crate) fn load(name: &str, params: &[Param]) -> Option<Made<dyn Weigher>> {
    let kind = ALL.iter().find(|kind| kind.name == name)?;
    Some((kind.load)(params))
}
