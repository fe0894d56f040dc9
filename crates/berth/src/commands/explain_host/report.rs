//! The report about a host, a function of facts. `docs/commands.md` promises the names of its JSON members.

use std::collections::BTreeMap;

use berth_cluster::FlavorGroupsError;
use berth_core::host::{self, ConditionStatus, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{HostName, Resources};
use berth_scheduler::{Held, OutOfService};
use serde::Serialize;

use super::facts::ExplainedHost;
use super::feasibility::{GroupFeasibility, Question};
use crate::commands::amounts::Amounts;
use crate::commands::claims::ClaimRow;
use crate::commands::cluster_snapshot::UnreadableCluster;
use crate::commands::leader::AskedOperator;

/// The output for a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HostReportView {
    pub(super) missing: Vec<UnreadableCluster>,
    pub(super) host: String,
    pub(super) cluster: String,
    pub(super) zone: String,
    pub(super) hypervisor_type: String,
    pub(super) cpu_arch: String,
    pub(super) in_service: bool,
    /// Why it is not in service, condition by condition.
    pub(super) out_of_service_because: Vec<String>,
    pub(super) conditions: BTreeMap<String, &'static str>,
    pub(super) traits: Vec<String>,
    pub(super) allowed_projects: Vec<String>,
    /// The projects that its aggregates admit; empty means all.
    pub(super) tenants: Vec<String>,
    /// A field with an invalid amount, and its value.
    pub(super) invalid_amount: Option<String>,
    pub(super) capacity: Amounts,
    pub(super) physical_capacity: Amounts,
    pub(super) vms: Vms,
    pub(super) blocked: Amounts,
    pub(super) reservations: Vec<Row>,
    pub(super) claims: Vec<ClaimRow>,
    pub(super) free: Amounts,
    /// By how much it is over-booked, if it is.
    pub(super) overbooked: Option<Amounts>,
    /// The project whose slots were tried; empty means none in particular.
    pub(super) tried_project: String,
    pub(super) fits: Vec<GroupFeasibility>,
    /// Why it is unknown which flavors fit.
    pub(super) fits_unknown: Option<String>,
    pub(super) operator: AskedOperator,
}

/// The VMs on a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Vms {
    pub(super) count: usize,
    pub(super) running: usize,
    pub(super) used: Amounts,
}

/// A reservation on a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cluster: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) project: String,
    pub(super) group: String,
    pub(super) size: Amounts,
    pub(super) blocks: Amounts,
    /// VMs expected in a slot of a commitment, VMs that a fail-over reservation protects, the VM on its way.
    pub(super) vms_expected: usize,
    /// Those of them that are on this host.
    pub(super) vms_confirmed: usize,
    pub(super) ready: bool,
    pub(super) ready_message: Option<String>,
    pub(super) target_host: Option<String>,
    pub(super) status_host: Option<String>,
    /// `to` or `from` with another host while it moves.
    pub(super) moving: Option<String>,
}

pub(super) fn report(
    facts: &ExplainedHost,
    question: &Question<'_>,
    fits: Result<Vec<GroupFeasibility>, &FlavorGroupsError>,
    operator: AskedOperator,
    missing: &[UnreadableCluster],
) -> HostReportView {
    let (report, host) = (&facts.host, &facts.host.host);
    let (fits, fits_unknown) = match fits {
        Ok(fits) => (fits, host.invalid_amount.clone().or_else(|| unnamed(report.free))),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    HostReportView {
        missing: missing.to_vec(),
        host: host.name.to_string(),
        cluster: host.cluster.to_string(),
        zone: host.zone.to_string(),
        hypervisor_type: host.capabilities.hypervisor_type.clone(),
        cpu_arch: host.capabilities.cpu_arch.clone(),
        in_service: report.hindrances.is_empty(),
        out_of_service_because: report.hindrances.iter().map(because).collect(),
        conditions: host.conditions.iter().map(|(name, status)| (name.clone(), format_status(*status))).collect(),
        traits: host.traits.iter().cloned().collect(),
        allowed_projects: texts(&host.allowed_projects),
        tenants: texts(&report.tenants),
        invalid_amount: host.invalid_amount.clone(),
        capacity: host.capacity.into(),
        physical_capacity: facts.physical.into(),
        vms: vms(host),
        blocked: report.reservations.iter().map(|held| held.block.block).sum::<Resources>().into(),
        reservations: report.reservations.iter().map(|held| row(held, host, facts)).collect(),
        claims: report.claims.iter().map(ClaimRow::from).collect(),
        free: report.free.into(),
        overbooked: report.free.overbooked().then(|| compute_excess(report.free)),
        tried_project: question.project.to_string(),
        fits,
        fits_unknown,
        operator,
    }
}

fn texts<'a, T: ToString + 'a>(all: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    all.into_iter().map(ToString::to_string).collect()
}

fn format_status(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

fn because(block_reason: &OutOfService) -> String {
    let meaning = match block_reason.condition {
        "Ready" => "it is not ready",
        "Onboarding" => "it is still being set up",
        "HypervisorDisabled" => "it is switched off for new VMs",
        _ => "it is being taken down",
    };
    format!("{} is {}: {meaning}", block_reason.condition, format_status(block_reason.status))
}

fn unnamed(free: host::Amounts) -> Option<String> {
    let memory = free.memory.is_none().then_some("memory");
    let names: Vec<_> = memory.into_iter().chain(free.cpu.is_none().then_some("cpu")).collect();
    let fields = "status.effectiveCapacity and status.capacity";
    (!names.is_empty()).then(|| format!("{fields} do not name {}", names.join(" and ")))
}

fn vms(host: &Host) -> Vms {
    let running = host.instances.values().filter(|running| **running).count();
    Vms { count: host.instances.len(), running, used: host.allocation.into() }
}

fn compute_excess(free: host::Amounts) -> Amounts {
    (Resources::ZERO - free.or_zero()).at_least_zero().into()
}

fn row(held: &Held, host: &Host, facts: &ExplainedHost) -> Row {
    let reservation = &held.reservation;
    let (expected, confirmed) = counts(reservation, host);
    let name = |host: &Option<HostName>| host.as_ref().map(ToString::to_string);
    Row {
        name: reservation.key.name.to_string(),
        cluster: reservation.key.cluster.to_string(),
        kind: kind(&reservation.kind),
        project: reservation.project.to_string(),
        group: reservation.group.to_string(),
        size: reservation.size.into(),
        blocks: held.block.block.into(),
        vms_expected: expected,
        vms_confirmed: confirmed,
        ready: reservation.ready,
        ready_message: facts.ready_messages.get(&reservation.key).cloned(),
        target_host: name(&reservation.target_host),
        status_host: name(&reservation.status_host),
        moving: moving(reservation, host),
    }
}

fn kind(kind: &ReservationKind) -> &'static str {
    match kind {
        ReservationKind::Committed(_) => "CommittedResourceReservation",
        ReservationKind::Failover(_) => "FailoverReservation",
        ReservationKind::InFlight(_) => "InFlightReservation",
        ReservationKind::Other => "unknown",
    }
}

fn counts(reservation: &Reservation, host: &Host) -> (usize, usize) {
    let there = |vm: &&berth_core::VmId| host.instances.contains_key(*vm);
    match &reservation.kind {
        ReservationKind::Committed(vms) => (vms.len(), vms.keys().filter(there).count()),
        ReservationKind::Failover(vms) => (vms.len(), vms.iter().filter(there).count()),
        ReservationKind::InFlight(vm) => (1, usize::from(there(&vm))),
        ReservationKind::Other => (0, 0),
    }
}

/// It blocks both hosts while it is wanted on one and in force on the other.
fn moving(reservation: &Reservation, host: &Host) -> Option<String> {
    let (target, status) = (reservation.target_host.as_ref()?, reservation.status_host.as_ref()?);
    let other = if *target == host.name { format!("from {status}") } else { format!("to {target}") };
    (target != status).then_some(other)
}
