//! The slot planner: which slots make up the memory of a commitment.
//!
//! It decides sizes, and hosts only for slots around VMs that run already. A plan is a value: planning again on the world
//! that it describes plans nothing.

mod change_group;
mod grow;
mod payg;
mod release;
mod repair;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use thiserror::Error;

use crate::flavor::{Flavor, FlavorGroup, FlavorGroups};
use crate::ids::{CommitmentUuid, DomainId, FlavorName, GroupName, HostName, ProjectId, SlotName, VmId, Zone};
use crate::slot::{self, Slot};
use crate::units::{Bytes, Resources};

/// The bound of slots that one plan creates, independent of the amount.
pub const MAX_NEW_SLOTS: u64 = 20_000;

/// The target of the slots of a commitment: the desired or the accepted spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub commitment: CommitmentUuid,
    pub project: ProjectId,
    pub domain: DomainId,
    pub group: GroupName,
    pub zone: Zone,
    pub memory: Bytes,
    /// Copied into the slots; absent values are cleared there.
    pub start: Option<Timestamp>,
    /// Copied into the slots; absent values are cleared there.
    pub end: Option<Timestamp>,
    pub generation: i64,
    pub prefix: String,
}

/// The input of the planner besides the target.
#[derive(Clone, Copy)]
pub struct PlannerInput<'a> {
    pub groups: &'a FlavorGroups,
    /// The slots of the commitment, in any order.
    pub slots: &'a [Slot],
    /// Free capacity of the hosts of slots that are to become larger ([`enlargeable`]); of a host that is absent
    /// nothing is known, so nothing is enlarged there.
    pub free_capacity: &'a BTreeMap<HostName, Resources>,
    pub taken: &'a dyn Fn(&SlotName) -> bool,
    /// VMs of the project that run in the zone and belong to no slot, in any order: a commitment that grows takes them
    /// over first.
    pub vms: &'a [RunningVm],
    /// Most new slots that need a host, when the commitment may be rejected (`maxSlotsPerCommitment`).
    pub max_new_slots: Option<u64>,
    /// The open change that the commitment belongs to: until its end nothing is released.
    pub change: Option<OpenChange<'a>>,
}

/// The part of an open change that concerns one commitment.
#[derive(Clone, Copy, Debug)]
pub struct OpenChange<'a> {
    /// Slots that others release and that this commitment gets as they are.
    pub offered: &'a [Slot],
    /// The slots from before the change, while it is rolled back.
    pub former: &'a [FormerSlot],
}

/// A VM on the host where it is active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningVm {
    pub id: VmId,
    pub host: HostName,
    pub flavor: FlavorName,
}

/// A slot as it was before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerSlot {
    pub name: SlotName,
    pub host: Option<HostName>,
    pub size: Resources,
}

/// The changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotPlan {
    pub release: Vec<Release>,
    pub update: Vec<Update>,
    pub create: Vec<NewSlot>,
    /// Slots of other commitments of the same change that become slots of this one.
    pub take_over: Vec<TakeOver>,
    pub kept: usize,
}

/// A slot to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub name: SlotName,
    pub why: ReleaseReason,
    /// It holds no VM, and is only deleted as long as that is so.
    pub empty: bool,
}

/// Why a slot is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseReason {
    /// It belongs to another project, group or zone than the commitment does now.
    OtherIdentity,
    /// Its flavor has left the group and it has no host.
    LostFlavor,
    /// It holds no memory (hand-edited or very old objects).
    NoMemory,
    /// It has fewer cores than it must have, no VM, and its host has no free capacity to repair that.
    TooFewCores,
    Surplus,
}

/// A slot that stays and is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub name: SlotName,
    pub size: Resources,
    /// Its host, when the write makes it larger and the host must have free capacity for that.
    pub enlarge_on: Option<HostName>,
}

/// A slot to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSlot {
    pub name: SlotName,
    pub number: u64,
    pub flavor: Flavor,
    /// Its size; smaller than the flavor for a remainder.
    pub size: Resources,
    /// The host that it had before a change that is rolled back.
    pub prefer: Option<HostName>,
    /// The VM that it is created around, on the host of the VM.
    pub around: Option<RunningVm>,
}

/// A slot of another commitment that is taken over as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeOver {
    pub name: SlotName,
    pub from: CommitmentUuid,
}

/// Why no plan can be made; the texts are those of the reference, continued where that helps.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    #[error("flavor group not found: {group}; spec.flavorGroupName must be one of: {known}")]
    GroupNotFound { group: GroupName, known: String },
    #[error(
        "flavor group {0} has no flavors: add flavors with the extra spec quota:hw_version={0}, or choose another spec.flavorGroupName"
    )]
    GroupWithoutFlavors(GroupName),
    /// The planner knows no hosts: whoever does refuses plans that need one.
    #[error("no host is in zone {0}: correct spec.availabilityZone, or label hosts with it")]
    ZoneWithoutHosts(Zone),
    #[error("commitment would create {count} new reservation slots, exceeds limit of {limit}")]
    SlotLimit { count: u64, limit: u64 },
}

pub fn plan(target: &Target, world: &PlannerInput<'_>) -> Result<SlotPlan, PlanError> {
    let mut draft = PlanDraft::new(target, world);
    match &world.change {
        None => draft.shrink(target.memory),
        Some(change) => draft.cut_to_former(change.former),
    }
    draft.repair_cores();
    if let Some(change) = &world.change {
        draft.take_over(target.memory, change);
    }
    if draft.missing(target.memory) > Bytes::ZERO {
        let group = usable_group(target, world.groups)?;
        draft.create_former(target, group, world);
        draft.take_over_vms(target, group, world);
        draft.restore(target.memory);
        draft.create(target, group, world)?;
    }
    Ok(draft.finish())
}

/// Hosts of slots that a plan may enlarge: those smaller than their flavor, which growing restores first, and those
/// with fewer cores than their memory must have. The capacity of these hosts is a fact that the plan needs.
pub fn enlargeable<'a>(slots: &'a [Slot], group: &'a FlavorGroup) -> impl Iterator<Item = &'a HostName> {
    slots.iter().filter_map(|slot| {
        let flavor = group.flavor(&slot.flavor)?;
        let size = slot.size;
        let is_small = size.memory < flavor.size().memory || size.cpu < flavor.part(size.memory).cpu;
        is_small.then_some(slot.target_host.as_ref()).flatten()
    })
}

/// The error about a group that is not among those that exist.
pub fn group_not_found(group: &GroupName, groups: &FlavorGroups) -> PlanError {
    let known = groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(", ");
    PlanError::GroupNotFound { group: group.clone(), known }
}

fn usable_group<'a>(target: &Target, groups: &'a FlavorGroups) -> Result<&'a FlavorGroup, PlanError> {
    let group = groups.get(&target.group).ok_or_else(|| group_not_found(&target.group, groups))?;
    if group.flavors.is_empty() {
        return Err(PlanError::GroupWithoutFlavors(target.group.clone()));
    }
    Ok(group)
}

/// A plan under construction: the slots that stay with their future sizes, and the decisions so far.
///
/// The slots in the order of the caller. Their rank is only computed for the slots that change ([`Kept::order`]):
/// usually these are few, however large the commitment is.
struct PlanDraft<'a> {
    kept: Vec<KeptSlot<'a>>,
    held: Bytes,
    release: Vec<Release>,
    create: Vec<NewSlot>,
    take_over: Vec<TakeOver>,
    /// One more than the highest number of any slot, also of those that go. Behind the last number there is comes the
    /// first one again, as a user may create a slot with it; names that exist are skipped.
    next_number: u64,
    /// Known free capacity that the plan has not given out yet.
    free_capacity: BTreeMap<HostName, Resources>,
}

/// A slot that stays, with its properties: a slot itself is read once.
struct KeptSlot<'a> {
    slot: &'a Slot,
    number: Option<u64>,
    /// Of its group, if that is known and has it.
    flavor: Option<&'a Flavor>,
    size: Resources,
    enlarge_on: Option<HostName>,
    /// It is written, even if its size does not change.
    outdated: bool,
}

impl<'a> PlanDraft<'a> {
    /// All slots of the world but those that cannot stay. Those that are being deleted already only keep their numbers.
    fn new(target: &Target, world: &PlannerInput<'a>) -> Self {
        let mut draft = Self {
            kept: Vec::with_capacity(world.slots.len()),
            held: Bytes::ZERO,
            release: Vec::new(),
            create: Vec::new(),
            take_over: Vec::new(),
            next_number: 0,
            free_capacity: world.free_capacity.clone(),
        };
        let group = world.groups.get(&target.group);
        let (mut flavors, mut unfit, mut highest) = (Flavors { group, last: None }, Vec::new(), None);
        for slot in world.slots {
            let number = slot::number(&slot.name, &target.prefix);
            highest = highest.max(number);
            if slot.terminating {
                continue;
            }
            let kept = KeptSlot::new(slot, number, flavors.of(slot), target);
            match kept.find_unfit_reason(target, group) {
                None => draft.keep(kept),
                Some(why) => unfit.push((kept.order(), Release::of(slot, why))),
            }
        }
        draft.next_number = highest.map_or(0, |highest: u64| highest.wrapping_add(1));
        unfit.sort_by_key(|(order, _)| *order);
        draft.release.extend(unfit.into_iter().map(|(_, release)| release));
        draft
    }

    fn keep(&mut self, kept: KeptSlot<'a>) {
        self.held += kept.size.memory;
        self.kept.push(kept);
    }

    fn give_up(&mut self, gone: &BTreeSet<usize>, why: ReleaseReason) {
        if gone.is_empty() {
            return;
        }
        let mut going: Vec<_> = gone.iter().map(|index| &self.kept[*index]).collect();
        going.sort_by_key(|kept| kept.order());
        self.held -= going.iter().map(|kept| kept.size.memory).sum();
        self.release.extend(going.into_iter().map(|kept| Release::of(kept.slot, why)));
        let mut index = 0;
        self.kept.retain(|_| {
            index += 1;
            !gone.contains(&(index - 1))
        });
    }

    /// Whole MiB below `wanted`. The sum of the slots is rounded up to MiB once, so less than one MiB is not missing.
    fn missing(&self, wanted: Bytes) -> Bytes {
        Bytes::from_mib(u64::try_from((wanted - self.held).mib_down()).unwrap_or(0))
    }

    fn finish(self) -> SlotPlan {
        let mut written: Vec<_> = self.kept.iter().filter(|kept| kept.is_written()).collect();
        written.sort_by_key(|kept| kept.order());
        let update = written.into_iter().map(KeptSlot::update).collect();
        let Self { release, create, take_over, kept, .. } = self;
        SlotPlan { release, update, create, take_over, kept: kept.len() }
    }
}

/// Finds the flavors of slots; as a rule the next one has that of the last one.
struct Flavors<'a> {
    group: Option<&'a FlavorGroup>,
    last: Option<&'a Flavor>,
}

impl<'a> Flavors<'a> {
    fn of(&mut self, slot: &Slot) -> Option<&'a Flavor> {
        let same = self.last.filter(|last| last.name == slot.flavor);
        let flavor = same.or_else(|| self.group?.flavor(&slot.flavor));
        self.last = flavor.or(self.last);
        flavor
    }
}

impl<'a> KeptSlot<'a> {
    /// Its parent generation alone is a reason for a write only while it is not in force: a slot that needs nothing is
    /// not written when its commitment changes.
    fn new(slot: &'a Slot, number: Option<u64>, flavor: Option<&'a Flavor>, target: &Target) -> Self {
        let unheard = slot.parent_generation != target.generation && !(slot.is_ready() && slot.is_placed());
        let outdated = !slot.labelled
            || slot.commitment != target.commitment
            || slot.domain != target.domain
            || (slot.start, slot.end) != (target.start, target.end)
            || unheard;
        Self { slot, number, flavor, size: slot.size, enlarge_on: None, outdated }
    }

    /// The order of the numbers, then of the names: so "first" and "last" are defined.
    fn order(&self) -> (Option<u64>, &'a SlotName) {
        (self.number, &self.slot.name)
    }

    fn is_written(&self) -> bool {
        self.outdated || self.size != self.slot.size
    }

    /// A slot that was first shrunk and then enlarged needs free capacity on its host only if it ends larger than it
    /// was.
    fn update(&self) -> Update {
        let enlarge_on = self.enlarge_on.clone().filter(|_| !self.size.fits(self.slot.size));
        Update { name: self.slot.name.clone(), size: self.size, enlarge_on }
    }

    /// Enlarges the slot if its host is known to have free capacity, or returns that it cannot.
    fn enlarge(
        &mut self,
        size: Resources,
        free_capacity: &mut BTreeMap<HostName, Resources>,
    ) -> Result<(), NotEnlarged> {
        if let Some(host) = &self.slot.target_host {
            let left = free_capacity.get_mut(host).ok_or(NotEnlarged::Unknown)?;
            let more = size - self.size;
            if !more.fits(*left) {
                return Err(NotEnlarged::Known);
            }
            *left -= more;
            self.enlarge_on = Some(host.clone());
        }
        self.size = size;
        Ok(())
    }
}

/// Why a slot is not enlarged.
enum NotEnlarged {
    Known,
    Unknown,
}

impl SlotPlan {
    /// True when there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.release.is_empty() && self.update.is_empty() && self.create.is_empty() && self.take_over.is_empty()
    }

    /// How many slots the commitment has when the plan is done: `n` in the texts.
    pub fn total(&self) -> usize {
        self.kept + self.take_over.len() + self.create.len()
    }

    /// The new slots that need a host.
    pub fn unplaced(&self) -> impl Iterator<Item = &NewSlot> {
        self.create.iter().filter(|new| new.around.is_none())
    }

    /// The new slots around VMs, each with its VM.
    pub fn around_vms(&self) -> impl Iterator<Item = (&NewSlot, &RunningVm)> {
        self.create.iter().filter_map(|new| Some((new, new.around.as_ref()?)))
    }

    pub fn gone(&self) -> BTreeSet<&SlotName> {
        self.release.iter().map(|release| &release.name).collect()
    }
}

impl fmt::Display for SlotPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        lines.extend(self.release.iter().map(|r| format!("release {} ({:?})", r.name, r.why)));
        lines.extend(self.update.iter().map(|u| format!("write {}: {}", u.name, u.size)));
        lines.extend(self.take_over.iter().map(|t| format!("take {} over from {}", t.name, t.from)));
        lines.extend(self.create.iter().map(ToString::to_string));
        f.write_str(if lines.is_empty() { "nothing to do".to_owned() } else { lines.join("; ") }.as_str())
    }
}

impl NewSlot {
    /// The VMs that it expects from its creation, each with the part of it that the slot holds.
    pub fn vms(&self) -> BTreeMap<VmId, Resources> {
        self.around.iter().map(|vm| (vm.id.clone(), self.size)).collect()
    }
}

impl fmt::Display for NewSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "create {} of {}: {}", self.name, self.flavor.name, self.size)?;
        self.around.iter().try_for_each(|vm| write!(f, " around VM {} on {}", vm.id, vm.host))
    }
}

#[cfg(test)]
mod tests;
