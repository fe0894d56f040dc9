//! docs/scheduler.md lists exactly the existing filters and weighers.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use berth_scheduler::{StepDescription, filters, weighers};

fn table(head: &str, steps: impl Iterator<Item = StepDescription>) -> String {
    let row = |step: StepDescription| format!("| `{}` | {} | {} |\n", step.name, step.does, step.parameters);
    format!("| {head} | It | Parameters |\n|---|---|---|\n{}", steps.map(row).collect::<String>())
}

#[test]
fn the_document_has_every_filter_and_weigher_as_the_code_describes_it() {
    let document = codebase::text("docs/scheduler.md");
    for table in [table("Filter", filters()), table("Weigher", weighers())] {
        assert!(document.contains(&table), "docs/scheduler.md must have:\n\n{table}");
    }
}
