//! `berth schedule`: a dry run of a request against the clusters.

mod quota;
mod report;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use berth_core::FlavorName;
use berth_core::flavor::{Flavor, FlavorGroup, FlavorGroups};
use berth_scheduler::{Call, Explanation, Hints, Intent, Options, Request};
use berth_scheduler_api::wire;
use berth_telemetry::config::ReservationController;
use jiff::Timestamp;

use super::cluster_snapshot::{self, ClusterSnapshot, UNSEEN};
use super::table::{row, table};
use super::{claims, output, similar};
use crate::args::{RequestSource, ScheduleArguments};
use crate::error::Error;
use report::{DryRun, Ranked, Removed};

pub(super) fn run(arguments: &ScheduleArguments) -> Result<(), Error> {
    let configuration = cluster_snapshot::configured(&arguments.clusters)?;
    let source = &arguments.source;
    // Before anything is contacted: an invalid body needs no cluster.
    let written = source.request.as_deref().map(|path| read(path, configuration.scheduler.max_body_bytes));
    let written = written.transpose()?;
    let (snapshot, no_budgets) = cluster_snapshot::read_snapshot(&arguments.clusters, configuration)?;
    snapshot.warn_of_unknown_claims();
    let request = match written {
        Some(request) => request,
        None => short(source, &snapshot)?,
    };
    let (answer, explanation) = ask(&snapshot, &request)?;
    let claims = snapshot.memory.scheduler.claims_in(&request.zone);
    let mut run = report::report(&request, &answer, explanation, &claims, &snapshot.missing);
    if let Some(error) = no_budgets {
        run.forget_quota(&error);
    }
    let shown = if arguments.all { usize::MAX } else { arguments.limit.get() };
    output::show(arguments.output, &run, |run| text(run, shown, arguments.all))
}

/// The hosts that would be answered, and the reasons.
fn ask(snapshot: &ClusterSnapshot, request: &Request) -> Result<(Vec<berth_core::HostName>, Explanation), Error> {
    let scheduler = &snapshot.memory.scheduler;
    let (now, time) = (Duration::ZERO, Timestamp::now());
    let call = Call { explain: true, ..Call::new(request, (now, time)) };
    let answer = scheduler.answer(&call)?;
    let explanation = answer.explanation.map_or_else(|| scheduler.explain(request), Ok)?;
    Ok((answer.hosts, explanation))
}

// Formats the dry run as text.

/// `shown` hosts at most, with `all` also every removed one.
fn text(run: &DryRun, shown: usize, all: bool) -> String {
    let mut text = ClusterSnapshot::heading(&run.missing);
    text.push_str(&head(run));
    if let Some(failed) = &run.failed {
        let _ = writeln!(text, "\nFAILED: {failed}; every host that reached this filter was removed");
    }
    text.push_str(&ranking(run, shown));
    text.push_str(&removals(&run.removed, all));
    text.push_str(&quota::text(run));
    text.push_str(&claims::text(&run.claims));
    let _ = writeln!(text, "\n{UNSEEN}");
    text
}

fn head(run: &DryRun) -> String {
    let wanted = &run.wanted;
    let zone = if wanted.zone.is_empty() { "any zone" } else { &wanted.zone };
    let project = if wanted.project.is_empty() { "no project" } else { &wanted.project };
    let rows = [
        row(["Pipeline", &run.pipeline]),
        row(["Intent", run.intent.unwrap_or("none, as Nova creates a VM")]),
        row(["Wanted", &format!("{} x {} ({})", wanted.instances, wanted.flavor, wanted.size.format())]),
        row(["For", &format!("{zone}, {project}")]),
    ];
    format!("Dry run, nothing was changed\n{}", table(&rows, &[]))
}

fn ranking(run: &DryRun, shown: usize) -> String {
    if run.ranked.is_empty() {
        return format!("\nNo host: {}\n", run.summary);
    }
    let steps = steps(&run.ranked);
    let mut head = row(["#", "HOST", "WEIGHT"]);
    head.extend(steps.iter().map(|step| (*step).to_owned()));
    let rows = run.ranked.iter().take(shown).enumerate().map(|(place, host)| line(place, host, &steps));
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    let right: Vec<usize> = [0].into_iter().chain(2..3 + steps.len()).collect();
    let mut text = format!("\nHosts, best first ({})\n{}", run.summary, table(&rows, &right));
    let more = run.ranked.len().saturating_sub(shown);
    if more > 0 {
        let _ = writeln!(text, "  ... and {more} more (--all)");
    }
    if run.ranked.iter().any(|host| !host.answered) {
        text.push_str("  Hosts marked with * are not in the answer: see max_candidates of the request and\n");
        text.push_str("  novaLimitHostsToRequest.\n");
    }
    text
}

/// The weighers, in the order of the pipeline.
fn steps(ranked: &[Ranked]) -> Vec<&'static str> {
    let mut steps = Vec::new();
    for added in ranked.iter().flat_map(|host| &host.weighers) {
        if !steps.contains(&added.step) {
            steps.push(added.step);
        }
    }
    steps
}

fn line(place: usize, host: &Ranked, steps: &[&str]) -> Vec<String> {
    let condition = if host.answered { "" } else { "*" };
    let tier = if host.first_tier { " (holds its fail-over slot)" } else { "" };
    let mut cells =
        vec![(place + 1).to_string(), format!("{}{condition}{tier}", host.host), format!("{:.4}", host.weight)];
    for step in steps {
        let added = host.weighers.iter().find(|added| added.step == *step);
        cells.push(added.map_or("-".to_owned(), |added| signed(added.added)));
    }
    cells
}

/// Nothing is never negative.
fn signed(number: f64) -> String {
    let text = format!("{number:+.4}");
    if text == "-0.0000" { "+0.0000".to_owned() } else { text }
}

fn removals(removed: &[Removed], all: bool) -> String {
    if removed.is_empty() {
        return String::new();
    }
    let mut text = "\nRemoved, by filter\n".to_owned();
    for filter in removed {
        let _ = writeln!(text, "  {:>5}  {} ({})", filter.count, filter.filter, filter.short);
        for host in filter.hosts.iter().filter(|_| all) {
            let _ = writeln!(text, "         {host}");
        }
    }
    if !all {
        text.push_str("  (--all names them)\n");
    }
    text
}

// The request of a dry run: the body of a request to the API, or a flavor with its options. The run is always read-only
// and explains itself.

/// Ties are decided by a hash of this name.
const INSTANCE: &str = "dry-run";

/// Reads a body of at most so many bytes from a file, or from standard input.
fn read(path: &Path, most: usize) -> Result<Request, Error> {
    let shown = path.display().to_string();
    let bytes = match shown.as_str() {
        "-" => bounded(io::stdin().lock(), most),
        _ => File::open(path).and_then(|file| bounded(file, most)),
    };
    let body = bytes.map_err(|source| Error::Unread { path: shown.clone(), source })?;
    let body = body.ok_or(Error::TooLarge { path: shown, most })?;
    Ok(dry(wire::decode(&body)?.request))
}

/// `None` when there is more.
fn bounded(source: impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    source.take(limit).read_to_end(&mut body)?;
    Ok((body.len() <= most).then_some(body))
}

/// The same request as a run that changes nothing.
fn dry(request: Request) -> Request {
    let asked = request.options;
    let options = Options {
        assume_empty_hosts: asked.assume_empty_hosts,
        lock_reservations: asked.lock_reservations,
        ignored_reservation_types: asked.ignored_reservation_types,
        max_candidates: asked.max_candidates,
        explain: true,
        ..Options::read_only()
    };
    Request { options, ..request }
}

/// The request of the short form.
fn short(source: &RequestSource, snapshot: &ClusterSnapshot) -> Result<Request, Error> {
    let known = snapshot.flavor_groups()?;
    let name = FlavorName::from(source.flavor.as_deref().unwrap_or_default());
    let group = known.groups.group_of(&name);
    let Some((group, flavor)) = group.and_then(|group| Some((group, group.flavor(&name)?))) else {
        return Err(unknown(&name, &known.groups));
    };
    Ok(shortened(source, group, flavor, &snapshot.configuration.reservation_controller))
}

fn unknown(name: &FlavorName, groups: &FlavorGroups) -> Error {
    let names = groups.iter().flat_map(|group| &group.flavors).map(|flavor| flavor.name.as_str());
    Error::Unknown { what: "flavor", name: name.to_string(), hint: similar::hint(name.as_str(), names) }
}

/// Slots are requested as by the controller of slots, VMs as by Nova.
fn shortened(
    source: &RequestSource,
    group: &FlavorGroup,
    flavor: &Flavor,
    configured: &ReservationController,
) -> Request {
    let intent =
        source.intent.as_deref().and_then(|name| Intent::ALL.iter().copied().find(|intent| intent.as_str() == name));
    let is_slot = intent == Some(Intent::ReserveForCommittedResource);
    let usual = configured.pipeline(group.name.as_str()).filter(|_| is_slot);
    let request = Request {
        project: source.project.as_deref().unwrap_or_default().into(),
        zone: source.zone.as_deref().unwrap_or_default().into(),
        hints: intent.map(Hints::for_intent).unwrap_or_default(),
        pipeline: source.pipeline.as_deref().or(usual).unwrap_or_default().to_owned(),
        options: Options { lock_reservations: is_slot, ..Options::default() },
        ..Request::new(INSTANCE, flavor.clone())
    };
    dry(request)
}
