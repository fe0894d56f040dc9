//! docs/operations.md explains every reason of our conditions, and no other; its links are valid, and its alerts use
//! existing metrics. The tests of the binary run its commands (crates/berth/tests/operations.rs).
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::BTreeSet;

use berth_crds::conditions::{commitment, reservation, safety};

const PAGE: &str = "docs/operations.md";
const REASONS: &str = "| Reason | Ready | Means | What to do |";

/// The text below a heading, up to the next one of its rank or higher.
fn section<'t>(text: &'t str, heading: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{PAGE} has no {heading}"));
    let rank = heading.split(' ').next().unwrap().len();
    let ends = (1..=rank).filter_map(|rank| rest.find(&format!("\n{} ", "#".repeat(rank))));
    &rest[..ends.min().unwrap_or(rest.len())]
}

/// The words in backticks in the first cells of the table of reasons, each with the second cell.
fn explained(heading: &str) -> BTreeSet<(String, String)> {
    let page = codebase::text(PAGE);
    let rows = section(&page, heading).split_once(REASONS).unwrap_or_else(|| panic!("{heading} has no table")).1;
    let rows = rows.trim_start().lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let reasons = cells.flat_map(|cells| {
        let words: Vec<_> = cells[1].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        words.into_iter().map(move |word| (word, cells[2].to_owned()))
    });
    reasons.collect()
}

fn words(explained: &BTreeSet<(String, String)>) -> BTreeSet<&str> {
    explained.iter().map(|(word, _)| word.as_str()).collect()
}

#[test]
fn every_reason_of_a_commitment_is_explained_and_no_other() {
    let page = explained("## What a commitment says");
    assert_eq!(words(&page), commitment::Reason::ALL.iter().map(|reason| reason.as_str()).collect());
    for (word, ready) in &page {
        assert_eq!(ready == "True", word == commitment::Reason::Accepted.as_str(), "{word}");
    }
}

#[test]
fn every_reason_of_a_reservation_is_explained_and_no_other() {
    let page = explained("## What a slot says");
    assert_eq!(words(&page), reservation::Reason::ALL.iter().map(|reason| reason.as_str()).collect());
}

#[test]
fn every_condition_that_protects_is_explained_and_no_other() {
    let page = codebase::text(PAGE);
    let rows = section(&page, "## What protects an object").lines().filter(|line| line.starts_with("| `"));
    let words: BTreeSet<String> = rows
        .flat_map(|line| {
            let cells: Vec<_> = line.split('|').collect();
            let words = cells[1..3].iter().flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
            words.collect::<Vec<_>>()
        })
        .collect();
    let paused = [safety::PAUSED, safety::BY_ANNOTATION, safety::BY_ZONE, safety::BY_FLAVOR_GROUP];
    let disruption_limited = [
        safety::DISRUPTION_LIMITED,
        safety::HOST_MISSING,
        safety::HOST_IN_ANOTHER_ZONE,
        safety::HOST_OVERBOOKED,
        safety::SLOTS_OF_WRONG_SHAPE,
        safety::ORPHANED,
        safety::UNKNOWN_TO_LIMES,
    ];
    assert_eq!(words, paused.into_iter().chain(disruption_limited).map(str::to_owned).collect());
}

#[test]
fn links_lead_somewhere() {
    let page = codebase::text(PAGE);
    for link in page.split("](").skip(1).map(|rest| rest.split_once(')').unwrap().0) {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let text = if file.is_empty() { page.clone() } else { codebase::text(&format!("docs/{file}")) };
        let headings = text.lines().filter(|line| line.starts_with('#'));
        let known = headings.map(|line| anchor_of(line.trim_start_matches('#').trim())).any(|known| known == anchor);
        assert!(anchor.is_empty() || known, "{PAGE}: {link} is a dead link");
    }
}

/// As forges generate them from headings.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn alerts_are_about_metrics_that_exist() {
    let (page, metrics) = (codebase::text(PAGE), codebase::text("docs/observability.md"));
    let (_, rules) = page.split_once("\n```yaml\n").unwrap();
    let rules: serde_json::Value = serde_saphyr::from_str(rules.split_once("```").unwrap().0).unwrap();
    let rules = rules["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() > 5);
    for rule in rules {
        let expr = rule["expr"].as_str().unwrap();
        let names = expr.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let ours: Vec<_> = names.filter(|name| name.starts_with("berth_") || name.starts_with("cortex_")).collect();
        assert!(!ours.is_empty(), "{expr}");
        for name in ours {
            let name = ["_count", "_bucket"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(metrics.contains(&format!("| `{name}` |")), "{PAGE}: docs/observability.md has no {name}");
        }
    }
}
