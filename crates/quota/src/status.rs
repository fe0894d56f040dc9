//! The status of a quota with its usage. Times and summaries alone are written once an hour at most.

use berth_core::liquid::units::UnitOf;
use berth_core::quota::{ZoneUsage, limes_quota_summary, limes_usage_summary, summary};
use berth_core::refresh::is_refresh_due;
use berth_crds::conditions::quota::{COMPUTED, RECONCILED};
use berth_crds::conditions::{self, Status, ready_condition};
use berth_crds::{ProjectQuota, ProjectQuotaStatus};
use berth_projects::Times;

/// The object with this usage, if that is to be written. Without a trusted clock only what has changed is.
pub(crate) fn with_usage(
    object: &ProjectQuota,
    usage: &ZoneUsage,
    unit_of: &UnitOf,
    Times { now, is_trusted }: Times,
) -> Option<ProjectQuota> {
    let old = object.status.clone().unwrap_or_default();
    let mut status = old.clone();
    status.observed_generation = object.metadata.generation;
    status.total_usage = usage.total(&object.spec.quota);
    status.payg_usage = usage.payg(&object.spec.quota);
    let ready = ready_condition(Status::True, RECONCILED, COMPUTED, object.metadata.generation, now);
    conditions::set_condition(&mut status.conditions, ready);
    let last = old.last_reconcile_at.as_ref().map(|time| time.0);
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let is_due = status != old || (is_trusted && is_refresh_due(name, last, now));
    is_due.then(|| {
        add_summaries(&mut status, object, usage, unit_of);
        let time = Some(conditions::whole_seconds(now));
        (status.last_reconcile_at, status.last_full_reconcile_at) = (time.clone(), time);
        ProjectQuota { status: Some(status), ..object.clone() }
    })
}

fn add_summaries(status: &mut ProjectQuotaStatus, object: &ProjectQuota, usage: &ZoneUsage, unit_of: &UnitOf) {
    let named = |text: String| (!text.is_empty()).then_some(text);
    status.total_usage_summary = named(summary(&status.total_usage));
    status.payg_usage_summary = named(summary(&status.payg_usage));
    status.limes_usage_summary = named(limes_usage_summary(usage, &object.spec.quota));
    status.limes_quota_summary = named(limes_quota_summary(&object.spec.quota, |group| unit_of(group)));
}

#[cfg(test)]
mod tests;
