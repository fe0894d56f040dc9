//! `berth explain zone`: what there is of each flavor group in a zone, what of it is sold, and the quota that is given out.

mod report;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

use berth_cluster::{ReadBy, chain};
use berth_core::Zone;
use berth_core::liquid::names::ResourceKind;
use berth_crds::conditions::capacity::UP_TO_DATE;
use berth_scheduler::Scheduler as _;
use jiff::Timestamp;

use super::cluster_snapshot::ClusterSnapshot;
use super::table::{row, table};
use super::{dry_run, similar, times};
use crate::args::ZoneArguments;
use crate::error::Error;
use report::{GroupRow, ResourceRow, ZoneFacts, ZoneReportView, report};

pub(super) fn run(arguments: &ZoneArguments) -> Result<(), Error> {
    let explain = async |snapshot: &ClusterSnapshot| explain(snapshot, &arguments.name, Timestamp::now()).await;
    dry_run::show(&arguments.clusters, ReadBy::Controllers, arguments.output, explain, text)
}

async fn explain(snapshot: &ClusterSnapshot, name: &str, now: Timestamp) -> Result<ZoneReportView, Error> {
    let zone = Zone::from(name);
    let stores = &snapshot.memory.stores;
    let unit_unknown = snapshot.read_published_info().await.err().map(|error| chain(&error));
    let quota_unknown = snapshot.read_quotas().await.err().map(|error| chain(&error));
    let hosts = snapshot.memory.scheduler.host_capacities();
    let hosts: Vec<Zone> = hosts.iter().map(|host| host.host.zone.clone()).collect();
    let capacities = stores.capacities.all();
    let of_objects = || capacities.iter().map(|one| one.object.spec.availability_zone.as_str());
    let known = || hosts.iter().map(Zone::as_str).filter(|zone| !zone.is_empty()).chain(of_objects());
    if !known().any(|known| known == name) {
        let hint = similar::hint(name, known()) + &snapshot.unread_clusters();
        return Err(Error::Unknown { what: "zone", name: name.to_owned(), hint });
    }
    let groups = snapshot.flavor_groups().map(|known| known.groups).map_err(|error| error.to_string());
    Ok(report(&ZoneFacts {
        zone: &zone,
        hosts: hosts.iter().filter(|of| **of == zone).count(),
        groups: groups.as_deref().ok(),
        groups_unknown: groups.as_ref().err().cloned(),
        capacities: &capacities,
        commitments: &stores.commitments.all(),
        quotas: &stores.quotas.all(),
        quota_unknown,
        unit_unknown,
        unit_of: &*snapshot.memory.unit_of(),
        max_age: snapshot.memory.capacity_max_age,
        now,
        missing: &snapshot.missing,
    }))
}

// Formats the report as text.

fn text(view: &ZoneReportView) -> String {
    let mut text = ClusterSnapshot::heading(&view.missing);
    let hosts = super::output::counted(view.hosts, "host");
    let _ = writeln!(text, "Zone {}: {hosts}", view.zone);
    if let Some(why) = &view.groups_unknown {
        let _ = writeln!(text, "The flavor groups are unknown: {why}");
    }
    if let Some(why) = &view.quota_unknown {
        let _ = writeln!(text, "The quota is unknown: {why}");
    }
    if let Some(why) = &view.unit_unknown {
        let _ = writeln!(text, "The units of Limes are unknown, and RAM is in the configured ones: {why}");
    }
    if view.groups.is_empty() {
        text.push_str("\nNo capacity was written yet; see the log of the controller \"capacity\".\n");
    }
    for group in &view.groups {
        text.push_str(&group_text(group, view.max_age_seconds));
    }
    text
}

fn group_text(group: &GroupRow, max_age_seconds: u64) -> String {
    let state = state(group, max_age_seconds);
    let mut text = format!("\nGroup {}, slots of {}: {state}\n", group.group, group.flavor);
    let head = row(["", "RUNNING", "RESERVED", "FREE", "CAPACITY", "SOLD", "QUOTA"]);
    let dash = |known: Option<i64>| known.map_or("-".to_owned(), |number| number.to_string());
    let line = |line: &ResourceRow| {
        let numbers = [line.running, line.reserved, line.free, line.capacity].map(|number| number.to_string());
        let mut cells = vec![label(line)];
        cells.extend(numbers);
        cells.extend([dash(line.sold), dash(line.quota)]);
        cells
    };
    let rows: Vec<_> = [head].into_iter().chain(group.resources.iter().map(line)).collect();
    text.push_str(&table(&rows, &[1, 2, 3, 4, 5, 6]));
    if let Some(wrong) = &group.wrong {
        let _ = writeln!(text, "  INVALID: {wrong}");
    }
    text
}

fn label(line: &ResourceRow) -> String {
    match line.kind {
        ResourceKind::Ram => format!("RAM ({})", line.unit),
        ResourceKind::Cores => "cores".to_owned(),
        ResourceKind::Instances => "instances".to_owned(),
    }
}

/// Whether the numbers are used, and all that is wrong with them.
fn state(group: &GroupRow, max_age_seconds: u64) -> String {
    let state = if group.ready { "up to date" } else { "NOT READY" };
    let span = |seconds| times::span(Duration::from_secs(seconds));
    let written = group.age_seconds.map_or("never written".to_owned(), |age| format!("written {} ago", span(age)));
    let too_old = group.too_old.then(|| format!("too old (more than {})", span(max_age_seconds)));
    let message = (!group.message.is_empty() && group.message != UP_TO_DATE).then(|| group.message.clone());
    let wrong: Vec<_> = too_old.into_iter().chain(message).collect();
    let wrong = if wrong.is_empty() { String::new() } else { format!(": {}", wrong.join("; ")) };
    format!("{state}, {written}{wrong}")
}
