//! Renders a decision as text. The response has the hosts that each filter removed and the weights only if the request
//! asked for them; otherwise the text has only numbers of hosts.

use std::collections::BTreeMap;
use std::fmt::Write;

use berth_core::HostName;
use berth_scheduler::{Answer, Contribution, Explanation, HostExplanation, Outcome};

const NAMED: usize = 10;
/// The number of hosts for which the explanation compares the weights with the next host.
const COMPARED: usize = 3;

/// Explains the hosts of the response.
pub fn explanation(answer: &Answer) -> String {
    let removed = &answer.decision.removed;
    let mut paragraphs = vec![format!("Started with {} host(s).", removed.hosts)];
    let filters: Vec<_> = removed.removed.iter().map(|(filter, count)| filtered(answer, filter.step, *count)).collect();
    paragraphs.push(filters.join("\n"));
    let left = removed.hosts.saturating_sub(removed.removed.iter().map(|(_, count)| count).sum());
    paragraphs.push(remaining(left, &answer.decision.hosts));
    paragraphs.push(match answer.hosts.first() {
        Some(host) => format!("Selected host: {host}."),
        None if answer.refused.is_some() => {
            answer.refused.map(|why| format!("No host is answered: {why}.")).unwrap_or_default()
        }
        None if left > 0 => "None of the remaining hosts is among those that were asked about.".to_owned(),
        None => String::new(),
    });
    paragraphs.push(answer.explanation.as_ref().map(weighed).unwrap_or_default());
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

fn filtered(answer: &Answer, step: &str, count: usize) -> String {
    let by = |host: &HostExplanation| matches!(&host.outcome, Outcome::Removed(filter) if filter.step == step);
    let all = answer.explanation.iter().flat_map(|explanation| &explanation.hosts);
    let hosts: Vec<_> = all.filter(|host| by(host)).map(|host| &host.host).collect();
    if hosts.is_empty() {
        let hosts = if count == 1 { "host" } else { "hosts" };
        return format!("{step} filtered out {count} {hosts}");
    }
    format!("{step} filtered out {}", named(hosts, count))
}

fn remaining(left: usize, hosts: &[HostName]) -> String {
    if left == 0 {
        "0 hosts remaining".to_owned()
    } else {
        format!("{left} hosts remaining ({})", named(hosts.iter().collect(), left))
    }
}

/// The first names in alphabetical order, and how many more of `count` there are.
fn named(mut hosts: Vec<&HostName>, count: usize) -> String {
    hosts.sort();
    hosts.truncate(NAMED);
    let names: Vec<_> = hosts.iter().map(|host| host.as_str()).collect();
    let more = count.saturating_sub(names.len());
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} (and {more} more)") }
}

/// The weigher that favours each of the first hosts most over the next one, and the weigher that opposes it most.
fn weighed(explanation: &Explanation) -> String {
    let ranked: Vec<_> = explanation.hosts.iter().filter_map(Ranked::of).collect();
    let pairs = ranked.windows(2).take(COMPARED);
    pairs.map(|pair| compared(&pair[0], &pair[1])).collect::<Vec<_>>().join("\n")
}

struct Ranked<'e> {
    host: &'e HostName,
    first: bool,
    added: BTreeMap<&'static str, f64>,
}

impl<'e> Ranked<'e> {
    fn of(host: &'e HostExplanation) -> Option<Self> {
        let Outcome::Ranked { first_tier, steps, .. } = &host.outcome else { return None };
        let added = steps.iter().map(|Contribution { step, added, .. }| (*step, *added)).collect();
        Some(Self { host: &host.host, first: *first_tier, added })
    }
}

fn compared(host: &Ranked<'_>, next: &Ranked<'_>) -> String {
    let mut text = format!("{} before {}:", host.host, next.host);
    let mut differences: Vec<_> =
        host.added.iter().map(|(step, added)| (*step, added - next.added.get(step).unwrap_or(&0.0))).collect();
    differences.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = differences.first().filter(|(_, difference)| *difference > 0.0);
    let least = differences.last().filter(|(_, difference)| *difference < 0.0);
    if host.first && !next.first {
        text.push_str(" it holds the failover slot of the VM,");
    }
    for (step, difference) in most.into_iter().chain(least) {
        // Writing into a String does not fail.
        let _ = write!(text, " {step} {difference:+.3},");
    }
    if text.ends_with(':') {
        text.push_str(" no weigher tells them apart,");
    }
    text.pop();
    text.push('.');
    text
}
