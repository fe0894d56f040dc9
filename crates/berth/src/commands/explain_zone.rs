//! `berth explain zone`: what there is of each flavor group in a zone, what of it is sold, and the quota that is given out.

mod report;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use berth_cluster::{ReadBy, chain};
use berth_core::Zone;
use berth_liquid::configured::resource_config;
use berth_scheduler::Scheduler as _;
use jiff::Timestamp;

use super::cluster_snapshot::ClusterSnapshot;
use super::table::{row, table};
use super::{dry_run, similar, times};
use crate::args::ZoneArguments;
use crate::error::Error;
use report::{GroupRow, ZoneFacts, ZoneReportView, report};

pub(super) fn run(arguments: &ZoneArguments) -> Result<(), Error> {
    let explain = async |snapshot: &ClusterSnapshot| explain(snapshot, &arguments.name, Timestamp::now()).await;
    dry_run::show(&arguments.clusters, ReadBy::Controllers, arguments.output, explain, text)
}

async fn explain(snapshot: &ClusterSnapshot, name: &str, now: Timestamp) -> Result<ZoneReportView, Error> {
    let zone = Zone::from(name);
    let stores = &snapshot.memory.stores;
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
    let configured = resource_config(&snapshot.configuration.committed_resource_api.flavor_groups);
    Ok(report(&ZoneFacts {
        zone: &zone,
        hosts: hosts.iter().filter(|of| **of == zone).count(),
        groups: groups.as_deref().ok(),
        groups_unknown: groups.as_ref().err().cloned(),
        capacities: &capacities,
        commitments: &stores.commitments.all(),
        quotas: &stores.quotas.all(),
        quota_unknown,
        unit_of: &|group| configured.of(group).ram_unit().unwrap_or_default(),
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
    if view.groups.is_empty() {
        text.push_str("\nNo capacity was written yet; see the log of the controller \"capacity\".\n");
    }
    for group in &view.groups {
        text.push_str(&group_text(group));
    }
    text
}

fn group_text(group: &GroupRow) -> String {
    let state = match (group.ready, group.age_seconds) {
        (true, Some(age)) => format!("up to date, written {} ago", times::span(std::time::Duration::from_secs(age))),
        (_, None) => "NOT READY, never written".to_owned(),
        (false, Some(age)) => {
            let age = times::span(std::time::Duration::from_secs(age));
            format!("NOT READY, written {age} ago: {}", group.message)
        }
    };
    let mut text = format!("\nGroup {}, slots of {}: {state}\n", group.group, group.flavor);
    let head = row(["", "RUNNING", "RESERVED", "FREE", "CAPACITY", "SOLD", "QUOTA"]);
    let dash = |known: Option<i64>| known.map_or("-".to_owned(), |number| number.to_string());
    let line = |line: &report::ResourceRow| {
        let numbers = [line.running, line.reserved, line.free, line.capacity].map(|number| number.to_string());
        let mut cells = vec![line.resource.clone()];
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
