//! Checks a request against the quota of its project: first its commitments, then what is left of the quota.

use berth_capacity_view::ClaimedQuota;
use berth_core::quota::Amounts;
use berth_core::units::declared_gib;
use berth_core::{GroupName, ProjectId, Zone};
use jiff::Timestamp;

use crate::budget::{ResourceQuota, ZoneBudget};
use crate::quota_verdict::{QuotaDecision, QuotaFigures, QuotaResource, ResourceFigures};
use crate::request::HW_VERSION;
use crate::{Intent, Request};

/// What a request is checked against.
#[derive(Clone, Debug)]
pub(crate) struct Place<'r> {
    pub(crate) project: &'r ProjectId,
    pub(crate) zone: &'r Zone,
    pub(crate) group: &'r GroupName,
}

/// Why a request is not checked; `None` if it is.
pub(crate) fn skipped(intent: Option<Intent>) -> Option<QuotaDecision> {
    match intent? {
        Intent::Evacuate | Intent::LiveMigration | Intent::Rebuild => Some(QuotaDecision::AcceptSkippedIntentMigration),
        Intent::ReserveForFailover | Intent::ReuseFailoverReservation | Intent::ReserveForCommittedResource => {
            Some(QuotaDecision::AcceptSkippedIntentInternal)
        }
        Intent::CapacityProbe => Some(QuotaDecision::AcceptSkipped),
        Intent::Create | Intent::Resize => None,
    }
}

/// The flavor group of a request.
pub(crate) fn group_of(request: &Request) -> Option<GroupName> {
    let group = request.flavor.extra_specs.get(HW_VERSION)?;
    (!group.is_empty()).then(|| group.as_str().into())
}

/// The place of a request for a flavor of this group; `None` without a project, a zone or a group.
pub(crate) fn place<'r>(request: &'r Request, group: Option<&'r GroupName>) -> Option<Place<'r>> {
    let Request { project, zone, .. } = request;
    (!project.is_empty() && !zone.is_empty()).then_some(Place { project, zone, group: group? })
}

/// What all instances of a request need together. RAM is in GiB as the flavor is declared.
pub(crate) fn needed(request: &Request) -> Amounts {
    let instances = i64::try_from(request.instances.max(1)).unwrap_or(i64::MAX);
    let ram_gib = i64::try_from(declared_gib(request.flavor.memory_mib)).unwrap_or(i64::MAX);
    Amounts {
        ram_gib: ram_gib.saturating_mul(instances),
        cores: i64::from(request.flavor.vcpus).saturating_mul(instances),
        instances,
    }
}

/// What the claim of a request uses of a quota; `None` for what exists already and for what is not a VM.
pub(crate) fn claimed_quota(request: &Request) -> Option<ClaimedQuota> {
    let is_new = skipped(request.intent()).is_none() && !request.project.is_empty();
    is_new.then(|| Some(ClaimedQuota { group: group_of(request)?, amounts: needed(request) }))?
}

/// Checks what is needed. `uncounted` is what VMs use that the usage does not count yet.
pub(crate) fn check(
    needed: Amounts,
    budget: Option<&ZoneBudget>,
    group: &GroupName,
    uncounted: impl IntoIterator<Item = Amounts>,
    time: Option<Timestamp>,
) -> (QuotaDecision, Option<QuotaResource>, QuotaFigures) {
    let mut ram = RamLeft::new(budget, group, time);
    let claimed = ram.take_all(uncounted);
    let quota = budget.and_then(|budget| budget.quota(group));
    let limits = quota.unwrap_or_default();
    let figures = QuotaFigures {
        ram: ResourceFigures { committed: ram.committed, ..figures(limits.ram, claimed.ram_gib, needed.ram_gib) },
        cores: figures(limits.cores, claimed.cores, needed.cores),
        instances: figures(limits.instances, claimed.instances, needed.instances),
        headroom: ram.most(),
    };
    let (decision, resource) = decide(&figures, quota.is_some());
    (decision, resource, figures)
}

fn figures(limit: ResourceQuota, claimed: i64, needed: i64) -> ResourceFigures {
    let quota = limit.quota.filter(|quota| *quota >= 0);
    ResourceFigures { quota, committed: 0, used: limit.used, claimed, needed }
}

fn decide(figures: &QuotaFigures, has_quota: bool) -> (QuotaDecision, Option<QuotaResource>) {
    if figures.headroom.is_some_and(|left| left >= figures.ram.needed) {
        return (QuotaDecision::AcceptCr, Some(QuotaResource::Ram));
    }
    if !has_quota {
        return (QuotaDecision::AcceptNoQuota, None);
    }
    let all = [
        (QuotaResource::Ram, figures.ram),
        (QuotaResource::Cores, figures.cores),
        (QuotaResource::Instances, figures.instances),
    ];
    let lacking = all.into_iter().find(|(_, figures)| !figures.suffices());
    lacking.map_or((QuotaDecision::AcceptPayg, None), |(resource, _)| (QuotaDecision::Reject, Some(resource)))
}

/// The RAM of commitments, in GiB.
struct RamLeft {
    committed: i64,
    /// What each has left, the oldest first.
    left: Vec<i64>,
}

impl RamLeft {
    fn new(budget: Option<&ZoneBudget>, group: &GroupName, time: Option<Timestamp>) -> Self {
        let mut committed = 0_i64;
        let active = budget.into_iter().flat_map(|budget| budget.commitments(group, time));
        let mut by_start: Vec<(Option<Timestamp>, i64)> = active
            .map(|commitment| {
                committed = committed.saturating_add(commitment.amount_gib);
                (commitment.start, commitment.amount_gib.saturating_sub(commitment.used_gib))
            })
            .collect();
        by_start.sort_by_key(|(start, _)| *start);
        Self { committed, left: by_start.into_iter().map(|(_, left)| left).collect() }
    }

    /// Takes VMs into commitments that have room for them, as the usage will count them; returns what is left over. A
    /// commitment pays for RAM only.
    fn take_all(&mut self, vms: impl IntoIterator<Item = Amounts>) -> Amounts {
        let mut beside = Amounts::default();
        for vm in vms {
            beside.cores = beside.cores.saturating_add(vm.cores);
            beside.instances = beside.instances.saturating_add(vm.instances);
            match self.left.iter_mut().find(|left| **left >= vm.ram_gib) {
                Some(left) => *left -= vm.ram_gib,
                None => beside.ram_gib = beside.ram_gib.saturating_add(vm.ram_gib),
            }
        }
        beside
    }

    fn most(&self) -> Option<i64> {
        self.left.iter().copied().max()
    }
}
