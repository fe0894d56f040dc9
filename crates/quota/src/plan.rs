//! Plan: the statuses of a project's quotas that differ from its usage.

use berth_cluster::{Entry, StatusChange};
use berth_core::Zone;
use berth_core::liquid::units::UnitOf;
use berth_core::quota::ProjectUsage;
use berth_crds::ProjectQuota;
use berth_projects::Times;

use crate::status::with_usage;

pub(crate) fn plan(
    quotas: Vec<Entry<ProjectQuota>>,
    usage: &ProjectUsage,
    unit_of: &UnitOf,
    times: Times,
) -> Vec<StatusChange<ProjectQuota>> {
    let change = |Entry { key, object: old }: Entry<ProjectQuota>| {
        let zone = Zone::from(old.spec.availability_zone.as_str());
        let of_zone = usage.get(&zone).cloned().unwrap_or_default();
        let new = with_usage(&old, &of_zone, unit_of, times)?;
        Some(StatusChange { key, old, new })
    };
    quotas.into_iter().filter_map(change).collect()
}
