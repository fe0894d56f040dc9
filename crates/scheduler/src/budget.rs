//! What projects may use of flavor groups, as ProjectQuota objects and commitments say, and what they use already. This is what
//! `filter_quota_enforcement` decides on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use berth_capacity_view::{Claim, ClaimedQuota};
use berth_core::quota::Amounts;
use berth_core::{ClusterName, GroupName, ProjectId, VmId, Zone};
use jiff::Timestamp;

use crate::order::hash;

/// The object of a commitment: its cluster and its name.
pub type CommitmentKey = (ClusterName, Arc<str>);

/// A change of what a project may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetChange {
    /// The quota of a project in a zone appeared, changed or (`None`) was deleted.
    Quota(ProjectId, Zone, Option<ZoneQuota>),
    /// A commitment appeared, changed or (`None`) no longer pays for RAM.
    Commitment(CommitmentKey, Option<CommittedRam>),
}

/// The quota of a project in a zone. Groups that are not in it are not limited.
pub type ZoneQuota = BTreeMap<GroupName, GroupQuota>;

/// The quota of a project for a flavor group in a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupQuota {
    /// In GiB.
    pub ram: ResourceQuota,
    pub cores: ResourceQuota,
    pub instances: ResourceQuota,
}

/// The quota of one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceQuota {
    /// `None` and negative values are unlimited.
    pub quota: Option<i64>,
    /// What is used and no commitment pays for.
    pub used: i64,
}

/// A commitment of memory whose state lets it pay for VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedRam {
    pub project: ProjectId,
    pub zone: Zone,
    pub group: GroupName,
    pub amount_gib: i64,
    pub used_gib: i64,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
}

impl CommittedRam {
    /// Whether it pays for VMs at this time. Without a time it does.
    pub(crate) fn is_active(&self, time: Option<Timestamp>) -> bool {
        time.is_none_or(|now| self.start.is_none_or(|start| start <= now) && self.end.is_none_or(|end| end >= now))
    }
}

/// The VMs that the usage in ProjectQuota objects is computed from.
pub trait CountedVms: fmt::Debug + Send + Sync {
    /// What a VM counts with in the usage of a flavor group; `None` if it does not count there.
    fn amounts(&self, vm: &VmId, group: &GroupName) -> Option<Amounts>;
}

/// All budgets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budgets {
    projects: BTreeMap<HashedProject, BTreeMap<Zone, ZoneBudget>>,
    places: BTreeMap<CommitmentKey, (ProjectId, Zone, GroupName)>,
    /// Those that quotas and commitments name.
    zones: SharedNames<Zone>,
    groups: SharedNames<GroupName>,
    counted: Option<Arc<dyn CountedVms>>,
    landed: BTreeMap<ProjectId, BTreeMap<VmId, LandedVm>>,
    /// No landed VM expires before this, so that most requests need not go through them.
    next_expiry: Duration,
}

/// A project behind a hash of it: thousands of texts would be compared by reading them all over the memory.
type HashedProject = (u64, ProjectId);

fn hashed(project: &ProjectId) -> HashedProject {
    (hash(project.as_str()), project.clone())
}

/// The budget of a project in a zone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ZoneBudget {
    quota: Option<ZoneQuota>,
    commitments: BTreeMap<GroupName, BTreeMap<CommitmentKey, CommittedRam>>,
}

/// A VM that a host lists and that the usage does not count yet.
#[derive(Clone, Debug)]
struct LandedVm {
    zone: Zone,
    quota: ClaimedQuota,
    /// When it is no longer waited for: monotonic time since the process began.
    expires: Duration,
}

/// Names, and how many quotas and commitments have each. Equal names share their memory: a request compares with few
/// places in memory, and not with other ones for each project.
#[derive(Clone, Debug, Default)]
struct SharedNames<T>(BTreeMap<T, usize>);

impl<T: Ord + Clone> SharedNames<T> {
    fn share(&mut self, name: T) -> T {
        let shared = self.0.get_key_value(&name).map_or(name, |(known, _)| known.clone());
        *self.0.entry(shared.clone()).or_default() += 1;
        shared
    }

    fn release(&mut self, name: &T) {
        if let Some(number) = self.0.get_mut(name) {
            *number -= 1;
            if *number == 0 {
                self.0.remove(name);
            }
        }
    }

    fn has(&self, name: &T) -> bool {
        self.0.contains_key(name)
    }
}

impl ZoneBudget {
    /// The quota for a group; `None` if the project has no quota in the zone.
    pub(crate) fn quota(&self, group: &GroupName) -> Option<GroupQuota> {
        self.quota.as_ref().map(|quota| quota.get(group).copied().unwrap_or_default())
    }

    /// The commitments for a group that pay for VMs at this time.
    pub(crate) fn commitments(
        &self,
        group: &GroupName,
        time: Option<Timestamp>,
    ) -> impl Iterator<Item = &CommittedRam> {
        let all = self.commitments.get(group).into_iter().flat_map(BTreeMap::values);
        all.filter(move |commitment| commitment.is_active(time))
    }

    fn is_empty(&self) -> bool {
        self.quota.is_none() && self.commitments.is_empty()
    }
}

impl Budgets {
    pub(crate) fn change(&mut self, change: BudgetChange) {
        match change {
            BudgetChange::Quota(project, zone, quota) => self.set_quota(&project, &zone, quota),
            BudgetChange::Commitment(key, commitment) => {
                self.remove_commitment(&key);
                if let Some(commitment) = commitment {
                    self.add_commitment(key, commitment);
                }
            }
        }
    }

    fn set_quota(&mut self, project: &ProjectId, zone: &Zone, quota: Option<ZoneQuota>) {
        let former = match quota {
            Some(quota) => {
                let groups = quota.into_iter().map(|(group, quota)| (self.groups.share(group), quota)).collect();
                let zone = self.zones.share(zone.clone());
                self.projects.entry(hashed(project)).or_default().entry(zone).or_default().quota.replace(groups)
            }
            None => self.projects.get_mut(&hashed(project)).and_then(|zones| zones.get_mut(zone)?.quota.take()),
        };
        if let Some(former) = former {
            self.zones.release(zone);
            for group in former.keys() {
                self.groups.release(group);
            }
        }
        self.tidy(project, zone);
    }

    fn add_commitment(&mut self, key: CommitmentKey, commitment: CommittedRam) {
        let project = commitment.project.clone();
        let zone = self.zones.share(commitment.zone.clone());
        let group = self.groups.share(commitment.group.clone());
        let budget = self.projects.entry(hashed(&project)).or_default().entry(zone.clone()).or_default();
        budget.commitments.entry(group.clone()).or_default().insert(key.clone(), commitment);
        self.places.insert(key, (project, zone, group));
    }

    fn remove_commitment(&mut self, key: &CommitmentKey) {
        let Some((project, zone, group)) = self.places.remove(key) else { return };
        let budget = self.projects.get_mut(&hashed(&project)).and_then(|zones| zones.get_mut(&zone));
        if let Some(budget) = budget
            && let Some(commitments) = budget.commitments.get_mut(&group)
        {
            commitments.remove(key);
            if commitments.is_empty() {
                budget.commitments.remove(&group);
            }
        }
        self.zones.release(&zone);
        self.groups.release(&group);
        self.tidy(&project, &zone);
    }

    /// Removes the entries of a zone and of a project that have become empty.
    fn tidy(&mut self, project: &ProjectId, zone: &Zone) {
        let key = hashed(project);
        let Some(zones) = self.projects.get_mut(&key) else { return };
        if zones.get(zone).is_some_and(ZoneBudget::is_empty) {
            zones.remove(zone);
        }
        if zones.is_empty() {
            self.projects.remove(&key);
        }
    }

    pub(crate) fn of(&self, project: &ProjectId, zone: &Zone) -> Option<&ZoneBudget> {
        self.projects.get(&hashed(project))?.get(zone)
    }

    /// Whether a quota or a commitment names the group.
    pub(crate) fn knows_group(&self, group: &GroupName) -> bool {
        self.groups.has(group)
    }

    /// The usage is computed from these VMs from now on.
    pub(crate) fn set_counted(&mut self, counted: Arc<dyn CountedVms>) {
        self.retain_landed(|vm, landed| counted.amounts(vm, &landed.quota.group).is_none());
        self.counted = Some(counted);
    }

    /// The host of a zone lists the VMs of these claims. They count until the usage has them, or until their claims would
    /// have expired.
    pub(crate) fn land(&mut self, claims: Vec<Claim>, zone: &Zone) {
        for claim in claims {
            let Claim { instance, project, expires, quota: Some(quota), .. } = claim else { continue };
            if self.counted_amounts(&instance, &quota.group).is_none() {
                if self.landed.is_empty() || expires < self.next_expiry {
                    self.next_expiry = expires;
                }
                let landed = LandedVm { zone: zone.clone(), quota, expires };
                self.landed.entry(project).or_default().insert(instance, landed);
            }
        }
    }

    pub(crate) fn expire(&mut self, now: Duration) {
        if now >= self.next_expiry && !self.landed.is_empty() {
            self.retain_landed(|_, landed| landed.expires > now);
            let all = self.landed.values().flat_map(BTreeMap::values);
            self.next_expiry = all.map(|landed| landed.expires).min().unwrap_or_default();
        }
    }

    fn retain_landed(&mut self, keep: impl Fn(&VmId, &LandedVm) -> bool) {
        self.landed.retain(|_, vms| {
            vms.retain(|vm, landed| keep(vm, landed));
            !vms.is_empty()
        });
    }

    /// What VMs of a project use that a host lists and that the usage does not count yet.
    pub(crate) fn landed<'b>(
        &'b self,
        project: &ProjectId,
        zone: &'b Zone,
        group: &'b GroupName,
    ) -> impl Iterator<Item = Amounts> + 'b {
        let all = self.landed.get(project).into_iter().flat_map(BTreeMap::values);
        all.filter(move |landed| landed.zone == *zone && landed.quota.group == *group)
            .map(|landed| landed.quota.amounts)
    }

    /// What a claim uses beyond what the usage counts of its VM, or a host already lists of it.
    pub(crate) fn beyond_counted(&self, claim: &Claim, quota: &ClaimedQuota) -> Amounts {
        let landed = || {
            let landed = self.landed.get(&claim.project)?.get(&claim.instance)?;
            (landed.quota.group == quota.group).then_some(landed.quota.amounts)
        };
        let known = self.counted_amounts(&claim.instance, &quota.group).or_else(landed).unwrap_or_default();
        let Amounts { ram_gib, cores, instances } = quota.amounts;
        Amounts {
            ram_gib: ram_gib.saturating_sub(known.ram_gib).max(0),
            cores: cores.saturating_sub(known.cores).max(0),
            instances: instances.saturating_sub(known.instances).max(0),
        }
    }

    fn counted_amounts(&self, vm: &VmId, group: &GroupName) -> Option<Amounts> {
        self.counted.as_ref()?.amounts(vm, group)
    }
}
