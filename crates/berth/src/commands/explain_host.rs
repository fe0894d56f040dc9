//! `berth explain host`: what a host holds, what blocks it, and which flavors fit.

mod facts;
mod feasibility;
mod report;
#[cfg(test)]
pub(super) mod tests;

use std::fmt::Write as _;

use berth_cluster::ReadBy;
use berth_core::HostName;
use berth_scheduler::PipelineChoice;
use berth_scheduler_api::explain::Subject;

use super::amounts::Amounts;
use super::cluster_snapshot::ClusterSnapshot;
use super::leader::{AskedOperator, asking};
use super::table::{row, table};
use super::{claims, dry_run, similar};
use crate::args::HostArguments;
use crate::error::Error;
use facts::ExplainedHost;
use feasibility::{FlavorFeasibility, GroupFeasibility, Question};
use report::{HostReportView, Row};

pub(super) fn run(arguments: &HostArguments) -> Result<(), Error> {
    let explain =
        async |snapshot: &ClusterSnapshot| explain(snapshot, arguments, asking(snapshot, &arguments.leader)).await;
    dry_run::show(&arguments.clusters, ReadBy::Scheduler, arguments.output, explain, text)
}

async fn explain(
    snapshot: &ClusterSnapshot,
    arguments: &HostArguments,
    ask: impl AsyncFnOnce(&Subject) -> AskedOperator,
) -> Result<HostReportView, Error> {
    let name = HostName::from(arguments.name.as_str());
    let scheduler = &snapshot.memory.scheduler;
    let Some(host) = scheduler.host_report(&name) else { return Err(unknown(&arguments.name, snapshot)) };
    let asked = ask(&Subject::Host(name.clone())).await;
    asked.count_promises(snapshot, &host.claims);
    let host = scheduler.host_report(&name).unwrap_or(host);
    let facts = ExplainedHost::gather(host, &snapshot.memory.stores);
    let groups = snapshot.flavor_groups();
    let choice = choice(snapshot);
    let project = arguments.project.as_deref().map(Into::into);
    let question = Question::about(&facts.host, project, &choice);
    let fits = match &groups {
        Ok(known) => Ok(question.ask(&known.groups, |request| scheduler.refusal(&name, request))),
        Err(error) => Err(error),
    };
    Ok(report::report(&facts, &question, fits, asked, &snapshot.missing))
}

/// A host of a cluster that is missing is not known either.
fn unknown(name: &str, snapshot: &ClusterSnapshot) -> Error {
    let names = snapshot.memory.scheduler.host_names();
    let hint = similar::hint(name, names.iter().map(HostName::as_str)) + &snapshot.unread_clusters();
    Error::Unknown { what: "host", name: name.to_owned(), hint }
}

fn choice(snapshot: &ClusterSnapshot) -> PipelineChoice {
    let configured = &snapshot.configuration.reservation_controller;
    PipelineChoice {
        flavor_group_pipelines: configured.flavor_group_pipelines.clone(),
        default: configured.pipeline_default.clone().unwrap_or_default(),
    }
}

// Formats the report as text.

/// Traits that keep others away are worth a line.
const EXCLUSIVE: &str = "EXCLUSIVE";

fn text(account: &HostReportView) -> String {
    let mut text = ClusterSnapshot::heading(&account.missing);
    text.push_str(&head(account));
    text.push_str(&sums(account));
    text.push_str(&reservations(account));
    text.push_str(&claims::text(&account.claims));
    text.push_str(&account.operator.placements());
    text.push_str(&fits(account));
    let _ = writeln!(text, "\n{}", account.operator.closing_line());
    text
}

fn head(account: &HostReportView) -> String {
    let or = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
    let zone = or(&account.zone, "none");
    let kind = or(&account.hypervisor_type, "unknown hypervisor type");
    let mut text = format!("Host {} in zone {zone}, cluster {}, {kind}", account.host, account.cluster);
    if !account.cpu_arch.is_empty() {
        let _ = write!(text, ", {}", account.cpu_arch);
    }
    text.push('\n');
    let why = account.out_of_service_because.join("; ");
    let service = if account.in_service { "yes".to_owned() } else { format!("NO, nothing is placed here: {why}") };
    let _ = writeln!(text, "  In service: {service}");
    if let Some(invalid_amount) = &account.invalid_amount {
        let _ = writeln!(text, "  NOT OFFERED: invalid amount: {invalid_amount}");
    }
    let conditions: Vec<_> = account.conditions.iter().map(|(name, status)| format!("{name} {status}")).collect();
    let _ = writeln!(text, "  Conditions: {}", or(&conditions.join(", "), "none"));
    let _ = writeln!(text, "  Traits: {}", traits(&account.traits));
    if !account.allowed_projects.is_empty() {
        let _ = writeln!(text, "  Only for projects: {}", account.allowed_projects.join(", "));
    }
    if !account.tenants.is_empty() {
        let _ = writeln!(text, "  Aggregates admit only projects: {}", account.tenants.join(", "));
    }
    text
}

fn traits(all: &[String]) -> String {
    let (mut first, others): (Vec<&str>, Vec<&str>) =
        all.iter().map(String::as_str).partition(|name| name.contains(EXCLUSIVE));
    first.extend(others);
    if first.is_empty() { "none".to_owned() } else { first.join(", ") }
}

fn sums(account: &HostReportView) -> String {
    let vms = format!("VMs: {}, running: {}", account.vms.count, account.vms.running);
    let blocking = format!("besides the VMs in them: {}", account.reservations.len());
    let physical = account.physical_capacity;
    let physical = match (physical.memory, physical.cpu) {
        (None, None) => String::new(),
        _ => format!("physical: {}", physical.format()),
    };
    let line = |name: &str, amounts: Amounts, note: &str| {
        vec![name.to_owned(), amounts.memory(), amounts.cpu(), note.to_owned()]
    };
    let rows = [
        row(["", "MEMORY", "CPU", ""]),
        line("Capacity", account.capacity, &physical),
        line("Used by VMs", account.vms.used, &vms),
        line("Blocked by reservations", account.blocked, &blocking),
        line("Free", account.free, ""),
    ];
    let mut text = format!("\n{}", table(&rows, &[1, 2]));
    if let Some(beyond) = account.overbooked {
        let _ = writeln!(
            text,
            "  OVER-BOOKED by {}: this host holds more than its capacity, and nothing more is placed here",
            beyond.present()
        );
    }
    text
}

fn reservations(account: &HostReportView) -> String {
    if account.reservations.is_empty() {
        return "\nNo reservation blocks anything here.\n".to_owned();
    }
    let head = ["NAME", "TYPE", "PROJECT", "GROUP", "SIZE", "BLOCKS", "VMS", "STATE"];
    let rows: Vec<_> = [row(head)].into_iter().chain(account.reservations.iter().map(reservation)).collect();
    let vms = "VMS: how many are here of how many are expected";
    format!("\nReservations, the largest block first ({vms})\n{}", table(&rows, &[]))
}

fn reservation(one: &Row) -> Vec<String> {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    vec![
        one.name.clone(),
        one.kind.trim_end_matches("Reservation").to_owned(),
        or_dash(&one.project),
        or_dash(&one.group),
        one.size.format(),
        one.blocks.format(),
        format!("{}/{}", one.vms_confirmed, one.vms_expected),
        state(one),
    ]
}

fn state(one: &Row) -> String {
    let mut parts = vec![if one.ready { "ready" } else { "not ready" }.to_owned()];
    parts.extend(one.ready_message.clone().filter(|_| !one.ready).map(|message| message.replace('\n', " ")));
    parts.extend(one.moving.as_ref().map(|other| format!("moving {other}")));
    parts.join(", ")
}

fn fits(account: &HostReportView) -> String {
    if let Some(why) = &account.fits_unknown {
        return format!("\nFeasible flavors are unknown: {why}\n");
    }
    if account.fits.is_empty() {
        return "\nFeasible flavors: there are none.\n".to_owned();
    }
    let project = match account.tried_project.as_str() {
        "" => "of no particular project".to_owned(),
        project => format!("of project {project}"),
    };
    let mut text = format!("\nFeasible flavors, as slots {project}\n");
    for group in &account.fits {
        text.push_str(&fits_of(group));
    }
    text
}

fn fits_of(group: &GroupFeasibility) -> String {
    let pipeline = if group.pipeline.is_empty() { String::new() } else { format!(" (pipeline {})", group.pipeline) };
    let rows: Vec<_> = group.flavors.iter().map(fit).collect();
    format!("  Group {}{pipeline}\n{}", group.group, table(&rows, &[2]))
}

fn fit(fit: &FlavorFeasibility) -> Vec<String> {
    let slots = fit.slots.unwrap_or_default();
    let lacks = fit.lacks.map(Amounts::present).filter(|lacks| !lacks.is_empty());
    let remark = match (&fit.refused_by, &fit.error, lacks) {
        (Some(refusal), ..) => format!("but refused by {} ({})", refusal.filter, refusal.short),
        (_, Some(error), _) => format!("but the filters cannot be asked: {error}"),
        (_, _, Some(lacks)) => format!("lacks {lacks}"),
        _ => String::new(),
    };
    vec![format!("  {}", fit.flavor), fit.size.format(), slots.to_string(), remark]
}
