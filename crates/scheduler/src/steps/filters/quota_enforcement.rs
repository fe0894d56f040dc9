//! Checks requests for new VMs against the commitments and the quota of their project. Unless it enforces, it removes no
//! host: its decision is only counted and shown. What is not known about a project never removes a host.

use berth_capacity_view::HostState;
use berth_core::GroupName;
use berth_core::quota::Amounts;
use serde::Deserialize;

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::params::{self, Param};
use crate::quota_check::{self, Place};
use crate::quota_verdict::{QuotaDecision, QuotaVerdict};
use crate::run::Run;
use crate::steps::{Effect, Filter, Made, StepError};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct QuotaEnforcement {
    enforce: bool,
}

pub(super) fn load(params: &[Param]) -> Made<dyn Filter> {
    Ok(Box::new(params::decode::<QuotaEnforcement>(params)?))
}

impl Filter for QuotaEnforcement {
    fn name(&self) -> FilterName {
        FilterName::new("filter_quota_enforcement", "quota")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let verdict = self.verdict(run);
        let (was_checked, removes_hosts) = (verdict.figures.is_some(), verdict.removes_hosts());
        run.note_quota(verdict);
        if removes_hosts {
            field.clear();
        }
        Ok(if self.enforce && was_checked { Effect::Done } else { Effect::Skipped })
    }
}

impl QuotaEnforcement {
    fn verdict(&self, run: &Run<'_>) -> QuotaVerdict {
        let unchecked = |decision| QuotaVerdict {
            enforce: self.enforce,
            decision,
            resource: None,
            zone: "".into(),
            group: "".into(),
            figures: None,
        };
        if let Some(decision) = quota_check::skipped(run.intent) {
            return unchecked(decision);
        }
        let group = quota_check::group_of(run.request);
        let Some(place) = quota_check::place(run.request, group.as_ref()) else {
            return with_known_names(run, group, unchecked(QuotaDecision::AcceptSkippedMissingData));
        };
        let budget = run.fleet.budgets.of(place.project, place.zone);
        let needed = quota_check::needed(run.request);
        let uncounted = uncounted(run, &place);
        let (decision, resource, figures) = quota_check::check(needed, budget, place.group, uncounted, run.time);
        with_known_names(run, group, QuotaVerdict { resource, figures: Some(figures), ..unchecked(decision) })
    }
}

/// What VMs of the project use that the usage does not count yet, apart from the VM of the request.
fn uncounted<'r>(run: &'r Run<'_>, place: &'r Place<'_>) -> impl Iterator<Item = Amounts> + 'r {
    let (view, budgets) = (&run.fleet.view, &run.fleet.budgets);
    let is_here = |host| {
        let state = view.id(host).and_then(|id| view.state(id)).map(HostState::host);
        state.is_some_and(|host| host.zone == *place.zone)
    };
    let others = view.claims_of(place.project).filter(|claim| claim.instance != run.request.instance);
    let claimed = others.filter_map(move |claim| {
        let quota = claim.quota.as_ref().filter(|quota| quota.group == *place.group && is_here(&claim.host))?;
        Some(budgets.beyond_counted(claim, quota))
    });
    claimed.chain(budgets.landed(place.project, place.zone, place.group))
}

/// Names that a request invents must not become labels.
fn with_known_names(run: &Run<'_>, group: Option<GroupName>, verdict: QuotaVerdict) -> QuotaVerdict {
    let zone = &run.request.zone;
    let group = group.filter(|group| run.fleet.budgets.knows_group(group));
    QuotaVerdict {
        zone: if run.fleet.zone_is_empty(zone) { verdict.zone } else { zone.clone() },
        group: group.unwrap_or(verdict.group),
        ..verdict
    }
}
