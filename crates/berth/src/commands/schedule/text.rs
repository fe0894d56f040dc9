//! The account of a dry run for people.

use std::fmt::Write as _;

use super::report::{DryRun, Ranked, Removed};
use crate::commands::{
    looking::{Look, UNSEEN},
    table::{row, table},
};

/// `shown` hosts at most, with `all` also every removed one.
pub(super) fn text(run: &DryRun, shown: usize, all: bool) -> String {
    let mut text = Look::heading(&run.missing);
    text.push_str(&head(run));
    if let Some(failed) = &run.failed {
        let _ = writeln!(text, "\nFAILED: {failed}; every host that reached this filter was removed");
    }
    text.push_str(&ranking(run, shown));
    text.push_str(&removals(&run.removed, all));
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
        row(["Wanted", &format!("{} x {} ({})", wanted.instances, wanted.flavor, wanted.size.words())]),
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
        text.push_str("  Hosts marked with * would not be in the answer: see max_candidates of the request and\n");
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
    let mark = if host.answered { "" } else { "*" };
    let tier = if host.first_tier { " (holds its fail-over slot)" } else { "" };
    let mut cells = vec![(place + 1).to_string(), format!("{}{mark}{tier}", host.host), format!("{:.4}", host.weight)];
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
