//! The assignment of the VMs of a project to its commitments: first fit in fixed orders, once by memory and once by cores.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::first_fit::FirstFit;
use crate::commitment::ResourceType;
use crate::ids::{CommitmentUuid, GroupName, VmId, Zone};
use crate::units::{Bytes, Cores, Resources, declared_gib};

/// A VM of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectVm {
    pub id: VmId,
    /// `None` is older than every time.
    pub created: Option<Timestamp>,
    pub memory_mib: u64,
    pub vcpus: u32,
    /// Empty if it is not known.
    pub zone: Zone,
    /// `None`: no group has its flavor.
    pub group: Option<GroupName>,
    /// It counts in a memory commitment whose usage stays as it is, so it is not available to others.
    pub is_held: bool,
}

/// A commitment in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableCommitment {
    pub uuid: CommitmentUuid,
    pub resource: ResourceType,
    pub zone: Zone,
    pub group: GroupName,
    /// Bytes or cores.
    pub amount: i64,
    /// `None` is earlier than every time.
    pub start: Option<Timestamp>,
}

/// What VMs use of one commitment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitmentUsage {
    /// In the order in which they were assigned.
    pub vms: Vec<VmId>,
    /// Without memory for a commitment of cores.
    pub used: Resources,
    /// The memory in whole GiB as it is declared, added up per VM.
    pub declared_gib: u64,
}

/// Why a VM counts in no commitment of memory, so that it is paid as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PaygReason {
    NoMemory,
    NoGroup,
    UnknownZone,
    NoCommitment,
    NothingLeft,
}

impl fmt::Display for PaygReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMemory => "its flavor has no memory",
            Self::NoGroup => "its flavor is in no flavor group",
            Self::UnknownZone => "its zone is not known",
            Self::NoCommitment => "the project has no active memory commitment in its zone and flavor group",
            Self::NothingLeft => "no memory commitment in its zone and flavor group has enough left",
        })
    }
}

/// The result for a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// For each commitment, in the order in which they were given.
    pub usages: Vec<CommitmentUsage>,
    /// The VMs in no commitment of memory, in the order of the assignment.
    pub payg: Vec<(VmId, PaygReason)>,
}

/// The commitments of a flavor group in a zone: their positions in the order of the assignment, and what is left.
struct Bucket {
    memory: (Vec<usize>, FirstFit),
    cores: (Vec<usize>, FirstFit),
}

/// Assigns each VM to the first commitment that has enough left. A VM is never split and never assigned anew; commitments of
/// memory and of cores do not influence each other.
pub fn assign(commitments: &[UsableCommitment], vms: &[ProjectVm]) -> Assignment {
    let (places, mut buckets) = buckets(commitments);
    let mut assignment = Assignment { usages: vec![CommitmentUsage::default(); commitments.len()], payg: Vec::new() };
    for PlacedVm { id, memory, vcpus, is_held, place, vm, .. } in in_order(vms, &places) {
        let mut bucket = place.and_then(|place| buckets.get_mut(place));
        let cores = Cores::new(vcpus.into());
        if let Some(at) = bucket.as_mut().and_then(|bucket| take(&mut bucket.cores, vcpus.into())) {
            assignment.usages[at].add(id.clone(), Resources::new(Bytes::ZERO, cores));
        }
        if is_held {
            continue;
        }
        let size = Resources::new(Bytes::from_mib(memory.0), cores);
        let found = bucket.as_mut().and_then(|bucket| take(&mut bucket.memory, size.memory.get()));
        match found {
            Some(at) => {
                assignment.usages[at].add(id, size);
                assignment.usages[at].declared_gib += declared_gib(memory.0);
            }
            None => assignment.payg.push((id, payg_reason(vm, bucket.as_deref()))),
        }
    }
    assignment
}

impl CommitmentUsage {
    fn add(&mut self, vm: VmId, size: Resources) {
        self.vms.push(vm);
        self.used += size;
    }
}

/// A VM with what is needed of it, taken in the order of the memory: once they are sorted, following references to VMs and
/// their names takes several times as long.
struct PlacedVm<'a> {
    id: VmId,
    /// Seconds and nanoseconds.
    created: (i64, i32),
    memory: Reverse<u64>,
    vcpus: u32,
    is_held: bool,
    /// The bucket of its zone and group, if there is one and the VM has memory.
    place: Option<usize>,
    vm: &'a ProjectVm,
}

/// The oldest first, then the largest, then by UUID.
fn in_order<'a>(vms: &'a [ProjectVm], bucket_of: &BTreeMap<Place<'_>, usize>) -> Vec<PlacedVm<'a>> {
    let placed = |vm: &'a ProjectVm| {
        let group = vm.group.as_ref().filter(|_| vm.memory_mib > 0);
        let place = group.and_then(|group| bucket_of.get(&(&vm.zone, group))).copied();
        let created = vm.created.map_or((i64::MIN, 0), |time| (time.as_second(), time.subsec_nanosecond()));
        let memory = Reverse(vm.memory_mib);
        PlacedVm { id: vm.id.clone(), created, memory, vcpus: vm.vcpus, is_held: vm.is_held, place, vm }
    };
    let mut all: Vec<PlacedVm<'_>> = vms.iter().map(placed).collect();
    all.sort_unstable_by(|a, b| (a.created, a.memory).cmp(&(b.created, b.memory)).then_with(|| a.id.cmp(&b.id)));
    all
}

type Place<'a> = (&'a Zone, &'a GroupName);

/// The buckets, and the position of each by its zone and group.
fn buckets(commitments: &[UsableCommitment]) -> (BTreeMap<Place<'_>, usize>, Vec<Bucket>) {
    let mut members: BTreeMap<Place<'_>, [Vec<usize>; 2]> = BTreeMap::new();
    for (at, commitment) in commitments.iter().enumerate() {
        let of_place = members.entry((&commitment.zone, &commitment.group)).or_default();
        of_place[usize::from(commitment.resource == ResourceType::Cores)].push(at);
    }
    let in_order = |mut all: Vec<usize>| {
        all.sort_unstable_by(|a, b| order(&commitments[*a], &commitments[*b]));
        let amounts: Vec<i64> = all.iter().map(|at| commitments[*at].amount).collect();
        (all, FirstFit::new(&amounts))
    };
    let places = members.keys().copied().zip(0..).collect();
    let bucket = |[memory, cores]: [Vec<usize>; 2]| Bucket { memory: in_order(memory), cores: in_order(cores) };
    (places, members.into_values().map(bucket).collect())
}

/// The earliest start first, then the largest, then by UUID.
fn order(a: &UsableCommitment, b: &UsableCommitment) -> Ordering {
    (a.start, Reverse(a.amount), &a.uuid).cmp(&(b.start, Reverse(b.amount), &b.uuid))
}

/// The position of the commitment that has so much left. What uses nothing counts in none.
fn take((positions, left): &mut (Vec<usize>, FirstFit), size: i64) -> Option<usize> {
    let found = if size > 0 { left.take(size) } else { None };
    found.map(|at| positions[at])
}

fn payg_reason(vm: &ProjectVm, bucket: Option<&Bucket>) -> PaygReason {
    if vm.memory_mib == 0 {
        PaygReason::NoMemory
    } else if vm.group.is_none() {
        PaygReason::NoGroup
    } else if vm.zone.is_empty() {
        PaygReason::UnknownZone
    } else if bucket.is_none_or(|bucket| bucket.memory.0.is_empty()) {
        PaygReason::NoCommitment
    } else {
        PaygReason::NothingLeft
    }
}

#[cfg(test)]
mod tests;
