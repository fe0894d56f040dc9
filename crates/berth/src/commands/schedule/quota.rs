//! What `filter_quota_enforcement` decides about a request, as text.

use std::fmt::Write as _;

use berth_scheduler::{QuotaDecision, QuotaFigures, QuotaResource, QuotaVerdict, ResourceFigures};

use super::report::DryRun;
use crate::commands::table::{row, table};

/// Empty if the pipeline does not have the filter.
pub(super) fn text(run: &DryRun) -> String {
    match (&run.quota, &run.quota_unknown) {
        (_, Some(why)) => format!("\nQuota: unknown: {why}\n"),
        (Some(verdict), None) => verdict_text(verdict),
        (None, None) => String::new(),
    }
}

fn verdict_text(verdict: &QuotaVerdict) -> String {
    let mut text = format!("\nQuota: {} ({})\n", meaning(verdict), verdict.decision.as_str());
    if let Some(figures) = &verdict.figures {
        text.push_str(&numbers(figures));
    }
    text
}

fn meaning(verdict: &QuotaVerdict) -> String {
    let words = match verdict.decision {
        QuotaDecision::AcceptSkippedIntentMigration => "not checked, the VM exists already",
        QuotaDecision::AcceptSkippedIntentInternal => "not checked, the request is for a slot",
        QuotaDecision::AcceptSkipped => "not checked, the request only asks for capacity",
        QuotaDecision::AcceptSkippedMissingData => "not checked, it needs a project, a zone and a flavor of a group",
        QuotaDecision::AcceptCr => "accepted, a commitment has enough RAM left",
        QuotaDecision::AcceptNoQuota => "accepted, the project has no quota in the zone",
        QuotaDecision::AcceptPayg => "accepted, the quota has enough left",
        QuotaDecision::Reject => {
            let lacking = verdict.resource.map_or("resources", name);
            let effect = if verdict.enforce { "no host is left" } else { "without enforce all hosts stay" };
            return format!("rejected, not enough {lacking} left; {effect}");
        }
    };
    words.to_owned()
}

fn name(resource: QuotaResource) -> &'static str {
    match resource {
        QuotaResource::Ram => "RAM",
        QuotaResource::Cores => "cores",
        QuotaResource::Instances => "instances",
    }
}

fn numbers(figures: &QuotaFigures) -> String {
    let head = row(["", "QUOTA", "COMMITTED", "USED", "CLAIMED", "NEEDED"]);
    let rows = [
        head,
        cells("RAM in GiB", &figures.ram),
        cells("cores", &figures.cores),
        cells("instances", &figures.instances),
    ];
    let mut text = table(&rows, &[1, 2, 3, 4, 5]);
    if let Some(headroom) = figures.headroom {
        let _ = writeln!(text, "  One commitment has {headroom} GiB left, others at most as much.");
    }
    text
}

fn cells(name: &str, figures: &ResourceFigures) -> Vec<String> {
    let ResourceFigures { quota, committed, used, claimed, needed } = figures;
    let quota = quota.map_or("unlimited".to_owned(), |quota| quota.to_string());
    let amounts = [committed, used, claimed, needed].map(ToString::to_string);
    [name.to_owned(), quota].into_iter().chain(amounts).collect()
}
