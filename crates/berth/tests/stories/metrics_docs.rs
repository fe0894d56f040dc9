//! `docs/observability.md` names every metric with its kind and labels, and no other.

use std::collections::{BTreeMap, BTreeSet};

use berth::wiring::OperatorMetrics;
use berth_telemetry::metrics::Metrics;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md");

/// The rows of the page begin with ``| `name` | kind | `label`, `label` |``.
fn rows_of_code() -> BTreeSet<String> {
    let row = |metric: berth_telemetry::metrics::Metric| {
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        format!("| `{}` | {} | {} |", metric.name, format!("{:?}", metric.kind).to_lowercase(), labels.join(", "))
    };
    let placement = Metrics::new(&BTreeMap::new()).unwrap();
    berth_placement::serve::metrics(&placement).unwrap();
    OperatorMetrics::all().unwrap().into_iter().chain(placement.registered()).map(row).collect()
}

fn rows_of_page() -> BTreeSet<String> {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| line.splitn(5, '|').take(4).collect::<Vec<_>>().join("|") + "|").collect()
}

#[test]
fn the_page_and_the_code_name_the_same_metrics() {
    let (code, page) = (rows_of_code(), rows_of_page());
    let missing: Vec<_> = code.difference(&page).collect();
    let stale: Vec<_> = page.difference(&code).collect();
    assert!(missing.is_empty(), "add to docs/observability.md: {missing:#?}");
    assert!(stale.is_empty(), "remove from docs/observability.md: {stale:#?}");
}
