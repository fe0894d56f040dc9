//! Plan: which commitments VMs count in, and the statuses that follow.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::{ObjectKey, StatusChange};
use berth_core::commitment::{ResourceType, Spec};
use berth_core::usage::{Assignment, CommitmentUsage, ProjectVm, UsableCommitment, assign};
use berth_core::{GroupName, Zone};
use berth_crds::conditions::commitment::Reason;
use berth_crds::{CommittedResource, conditions, facts};
use berth_projects::Times;
use jiff::{SignedDuration, Timestamp};

use crate::status;

/// A commitment of the project.
#[derive(Clone, Debug)]
pub struct StoredCommitment {
    pub key: ObjectKey,
    pub object: Arc<CommittedResource>,
    /// Other objects with the same UUID. It is not known which of them counts.
    pub others: Vec<ObjectKey>,
}

/// Whether VMs count in a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Active(UsableCommitment),
    /// It is not accepted, has not started, or has ended.
    Inactive,
    /// Its usage stays as it is, and so do the VMs in it.
    Kept,
}

/// The result for a project.
#[derive(Clone, Debug, Default)]
pub struct UsagePlan {
    /// For each commitment.
    pub standings: Vec<Standing>,
    /// For each active commitment, in their order, and the VMs in none.
    pub assignment: Assignment,
    /// In the order in which they are to be written.
    pub changes: Vec<StatusChange<CommittedResource>>,
    /// When a commitment starts or ends next.
    pub next: Option<Timestamp>,
}

/// Assigns the VMs from scratch.
pub(crate) fn plan(commitments: &[StoredCommitment], vms: Vec<ProjectVm>, times: Times) -> UsagePlan {
    let standings = standings(commitments, times);
    let active: Vec<UsableCommitment> = standings.iter().filter_map(Standing::usable).cloned().collect();
    let assignment = assign(&active, &mark_held(vms, commitments, &standings));
    let changes = changes(commitments, &standings, &assignment, times);
    let next = if times.is_trusted { next_moment(commitments, times.now) } else { None };
    UsagePlan { standings, assignment, changes: in_order(changes), next }
}

impl Standing {
    pub fn usable(&self) -> Option<&UsableCommitment> {
        match self {
            Self::Active(usable) => Some(usable),
            Self::Inactive | Self::Kept => None,
        }
    }
}

impl UsagePlan {
    /// The usage of each active commitment.
    pub fn usages(&self) -> impl Iterator<Item = (&UsableCommitment, &CommitmentUsage)> {
        self.standings.iter().filter_map(Standing::usable).zip(&self.assignment.usages)
    }

    /// How many VMs count in a commitment of memory.
    pub(crate) fn assigned_vms(&self) -> usize {
        let of_memory = self.usages().filter(|(usable, _)| usable.resource == ResourceType::Memory);
        of_memory.map(|(_, usage)| usage.vms.len()).sum()
    }

    /// Whether a commitment waits for a clock that may decide.
    pub(crate) fn has_kept(&self) -> bool {
        self.standings.contains(&Standing::Kept)
    }
}

fn standings(commitments: &[StoredCommitment], times: Times) -> Vec<Standing> {
    let mut all: Vec<Standing> = commitments.iter().map(|one| standing(one, times)).collect();
    // It is not known which VMs a commitment of cores counts, so the others of its place would count them again.
    let kept = all.iter().zip(commitments).filter(|(standing, _)| **standing == Standing::Kept);
    let kept: BTreeSet<(Zone, GroupName)> = kept.filter_map(|(_, one)| place_of_cores(&one.object)).collect();
    for standing in &mut all {
        let counts_cores = |usable: &UsableCommitment| {
            usable.resource == ResourceType::Cores && kept.contains(&(usable.zone.clone(), usable.group.clone()))
        };
        if standing.usable().is_some_and(counts_cores) {
            *standing = Standing::Kept;
        }
    }
    all
}

fn place_of_cores(object: &CommittedResource) -> Option<(Zone, GroupName)> {
    let accepted = facts::accepted_spec(object)?;
    (accepted.resource == ResourceType::Cores).then_some((accepted.zone, accepted.group))
}

/// Everything is taken from the accepted spec, because that is what is reserved; only the end may come earlier.
fn standing(commitment: &StoredCommitment, times: Times) -> Standing {
    let object = &commitment.object;
    if !commitment.others.is_empty() {
        return Standing::Kept;
    }
    match active_spec(object) {
        None => Standing::Inactive,
        Some(accepted) if !times.is_trusted && is_timed(object, &accepted) => Standing::Kept,
        Some(accepted) if times.is_trusted && !is_in_force(object, &accepted, times.now) => Standing::Inactive,
        Some(accepted) => Standing::Active(usable(accepted)),
    }
}

/// The accepted spec if VMs may count in it, whatever time it is.
fn active_spec(object: &CommittedResource) -> Option<Spec> {
    let accepted = object.status.as_ref()?.accepted_spec.as_ref()?;
    let is_active = accepted.state.is_active() && !is_over(object) && object.metadata.deletion_timestamp.is_none();
    Some(facts::spec_of(accepted)).filter(|spec| is_active && spec.validate().is_ok())
}

/// Its controller has found that it holds nothing any more. Until then the accepted spec still counts.
fn is_over(object: &CommittedResource) -> bool {
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions::ready(conditions).is_some_and(|ready| {
        let is_current = ready.status == "False" && ready.observed_generation == object.metadata.generation;
        let is_inactive = matches!(Reason::parse(&ready.reason), Some(Reason::Inactive(_)));
        is_current && (is_inactive || !object.spec.state.is_active())
    })
}

fn is_timed(object: &CommittedResource, accepted: &Spec) -> bool {
    accepted.start.is_some() || ends(object, accepted).next().is_some()
}

fn is_in_force(object: &CommittedResource, accepted: &Spec, now: Timestamp) -> bool {
    accepted.start.is_none_or(|start| start <= now) && ends(object, accepted).all(|end| end >= now)
}

/// A shorter term counts before it is accepted.
fn ends(object: &CommittedResource, accepted: &Spec) -> impl Iterator<Item = Timestamp> + use<> {
    [object.spec.end_time.as_ref().map(|time| time.0), accepted.end].into_iter().flatten()
}

fn usable(spec: Spec) -> UsableCommitment {
    // Rounded down, so that no more is used than was accepted.
    let amount = spec.amount.round_down();
    let Spec { uuid, group, resource, zone, start, .. } = spec;
    UsableCommitment { uuid, resource, zone, group, amount, start }
}

fn mark_held(mut vms: Vec<ProjectVm>, commitments: &[StoredCommitment], standings: &[Standing]) -> Vec<ProjectVm> {
    let kept = standings.iter().zip(commitments).filter(|(standing, _)| **standing == Standing::Kept);
    let listed = kept.flat_map(|(_, one)| &one.object.status).flat_map(|status| &status.assigned_instances);
    let held: BTreeSet<&str> = listed.map(String::as_str).collect();
    for vm in &mut vms {
        vm.is_held = held.contains(vm.id.as_str());
    }
    vms
}

fn changes(
    commitments: &[StoredCommitment],
    standings: &[Standing],
    assignment: &Assignment,
    times: Times,
) -> Vec<StatusChange<CommittedResource>> {
    let mut usages = assignment.usages.iter();
    let mut change = |(one, standing): (&StoredCommitment, &Standing)| {
        let new = match standing {
            Standing::Kept => None,
            Standing::Inactive => status::without_usage(&one.object, times.now),
            Standing::Active(usable) => status::with_usage(&one.object, usable, usages.next()?, times),
        };
        Some(StatusChange { key: one.key.clone(), old: one.object.clone(), new: new? })
    };
    commitments.iter().zip(standings).filter_map(&mut change).collect()
}

/// A VM leaves its former commitment before it is shown in the next one, as far as no two of them exchange VMs.
fn in_order(mut changes: Vec<StatusChange<CommittedResource>>) -> Vec<StatusChange<CommittedResource>> {
    let gains = |change: &StatusChange<CommittedResource>| {
        let before: BTreeSet<&String> = vms_of(&change.old).collect();
        vms_of(&change.new).any(|vm| !before.contains(vm))
    };
    changes.sort_by_cached_key(gains);
    changes
}

fn vms_of(object: &CommittedResource) -> impl Iterator<Item = &String> {
    object.status.iter().flat_map(|status| &status.assigned_instances)
}

/// The next start or end. An end that is now has not passed yet.
fn next_moment(commitments: &[StoredCommitment], now: Timestamp) -> Option<Timestamp> {
    let after_end = |end: Timestamp| end.saturating_add(SignedDuration::from_millis(1)).unwrap_or(end);
    let moments = commitments.iter().filter_map(|one| Some((&one.object, active_spec(&one.object)?)));
    let moments = moments.flat_map(|(object, accepted)| {
        let ends = ends(object, &accepted).map(after_end);
        accepted.start.into_iter().chain(ends).collect::<Vec<_>>()
    });
    moments.filter(|moment| *moment > now).min()
}

#[cfg(test)]
mod tests;
