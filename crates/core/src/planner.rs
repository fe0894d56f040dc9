//! The slot planner: which slots make a commitment's memory exactly its wish.
//!
//! It decides sizes, not hosts. A plan is a value: nothing is done until somebody applies it, and planning again on the
//! world that it describes plans nothing. PAYG pre-allocation is not part of it.

mod grow;
mod release;
mod repair;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use thiserror::Error;

use crate::flavor::{Flavor, FlavorGroup, FlavorGroups};
use crate::ids::{CommitmentUuid, DomainId, GroupName, HostName, ProjectId, SlotName, Zone};
use crate::slot::{self, Slot};
use crate::units::{Bytes, Resources};

/// More slots than this are never created by one plan, whatever the amount asks for.
pub const MAX_NEW_SLOTS: u64 = 20_000;

/// What the slots of a commitment are to be: the wanted or the accepted spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The commitment.
    pub commitment: CommitmentUuid,
    /// Owner of the slots.
    pub project: ProjectId,
    /// Domain of the owner.
    pub domain: DomainId,
    /// Flavor group.
    pub group: GroupName,
    /// Zone.
    pub zone: Zone,
    /// Total, whole MiB.
    pub memory: Bytes,
    /// Copied into the slots; absent values are cleared there.
    pub start: Option<Timestamp>,
    /// Copied into the slots; absent values are cleared there.
    pub end: Option<Timestamp>,
    /// Generation of the commitment object.
    pub generation: i64,
    /// `<commitment object>-`.
    pub prefix: String,
}

/// What the plan rests on besides the target.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// All flavor groups.
    pub groups: &'a FlavorGroups,
    /// The slots of the commitment, in any order.
    pub slots: &'a [Slot],
    /// Free room of the hosts of slots that are to become larger ([`enlargeable`]); of a host that is absent nothing is
    /// known, so nothing is enlarged there.
    pub room: &'a BTreeMap<HostName, Resources>,
    /// Names of Reservations that are taken.
    pub taken: &'a dyn Fn(&SlotName) -> bool,
    /// Most new slots, when the commitment may be rejected (`maxSlotsPerCommitment`).
    pub max_new_slots: Option<u64>,
}

/// What has to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotPlan {
    /// Slots to delete, first to last.
    pub release: Vec<Release>,
    /// Slots that stay and are written.
    pub update: Vec<Update>,
    /// Slots to create.
    pub create: Vec<NewSlot>,
    /// How many slots stay, written or not.
    pub kept: usize,
}

/// A slot to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The slot.
    pub name: SlotName,
    /// Why it has to go.
    pub why: Why,
    /// It holds no VM, and is only deleted as long as that is so.
    pub empty: bool,
}

/// Why a slot is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It belongs to another project, group or zone than the commitment does now.
    OtherIdentity,
    /// Its flavor has left the group and it has no host.
    LostFlavor,
    /// It holds no memory (hand-edited or very old objects).
    NoMemory,
    /// It has fewer cores than it must have, no VM, and its host has no room to repair that.
    TooFewCores,
    /// The commitment has become smaller.
    Surplus,
}

/// A slot that stays and is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The slot.
    pub name: SlotName,
    /// Its size after the write.
    pub size: Resources,
    /// Its host, when the write makes it larger and the host must have room for that.
    pub enlarge_on: Option<HostName>,
}

/// A slot to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSlot {
    /// Its object name.
    pub name: SlotName,
    /// The number in the name.
    pub number: u64,
    /// The flavor that gives it its shape.
    pub flavor: Flavor,
    /// Its size; smaller than the flavor for a remainder.
    pub size: Resources,
}

/// Why no plan can be made; the texts are those of document 20 sections 12.2 and 12.3, continued where that helps.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The group is not published.
    #[error("flavor group not found: {group}; spec.flavorGroupName must be one of: {known}")]
    GroupNotFound {
        /// The name in the spec.
        group: GroupName,
        /// Those that exist.
        known: String,
    },
    /// No slot has a shape.
    #[error(
        "flavor group {0} has no flavors: add flavors with the extra spec quota:hw_version={0}, or choose another spec.flavorGroupName"
    )]
    GroupWithoutFlavors(GroupName),
    /// `maxSlotsPerCommitment`, or [`MAX_NEW_SLOTS`].
    #[error("commitment would create {count} new reservation slots, exceeds limit of {limit}")]
    SlotLimit {
        /// Slots that would be created.
        count: u64,
        /// Slots that may be created.
        limit: u64,
    },
}

/// Plans `target` onto `world`.
pub fn plan(target: &Target, world: &World<'_>) -> Result<SlotPlan, PlanError> {
    let mut draft = Draft::new(target, world);
    draft.shrink(target.memory);
    draft.repair_cores();
    if draft.missing(target.memory) > Bytes::ZERO {
        let group = usable_group(target, world.groups)?;
        draft.restore(target.memory);
        draft.create(target, group, world)?;
    }
    Ok(draft.finish())
}

/// Hosts of slots that a plan may enlarge: those smaller than their flavor, which growing restores first, and those with
/// fewer cores than their memory must have. The room of these hosts is a fact that the plan needs.
pub fn enlargeable<'a>(slots: &'a [Slot], group: &'a FlavorGroup) -> impl Iterator<Item = &'a HostName> {
    slots.iter().filter_map(|slot| {
        let flavor = group.flavor(&slot.flavor)?;
        (!flavor.size().fits(slot.size)).then_some(slot.target_host.as_ref()).flatten()
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

/// A plan in the making: the slots that stay with their future sizes, and what is decided so far.
///
/// The slots are as the caller has them. Which comes first and which last is asked only of those that something is done
/// about ([`Kept::order`]): as a rule these are few, however large the commitment is.
struct Draft<'a> {
    kept: Vec<Kept<'a>>,
    /// The memory of those.
    held: Bytes,
    release: Vec<Release>,
    create: Vec<NewSlot>,
    /// One more than the highest number of any slot, also of those that go. Behind the last number there is comes the
    /// first one again, as somebody may call a slot so by hand; what is taken is skipped.
    next_number: u64,
    /// Known room that the plan has not given out yet.
    room: BTreeMap<HostName, Resources>,
}

/// A slot that stays, with everything that is asked of each: a slot itself is looked at once.
struct Kept<'a> {
    slot: &'a Slot,
    /// The number in its name.
    number: Option<u64>,
    /// Of its group, if that is known and has it.
    flavor: Option<&'a Flavor>,
    size: Resources,
    enlarge_on: Option<HostName>,
    /// It is written, whatever becomes of its size.
    outdated: bool,
}

impl<'a> Draft<'a> {
    /// All slots of the world but those that cannot stay. Those that are being deleted already only keep their numbers.
    fn new(target: &Target, world: &World<'a>) -> Self {
        let mut draft = Self {
            kept: Vec::with_capacity(world.slots.len()),
            held: Bytes::ZERO,
            release: Vec::new(),
            create: Vec::new(),
            next_number: 0,
            room: world.room.clone(),
        };
        let group = world.groups.get(&target.group);
        let (mut flavors, mut unfit, mut highest) = (Flavors { group, last: None }, Vec::new(), None);
        for slot in world.slots {
            let number = slot::number(&slot.name, &target.prefix);
            highest = highest.max(number);
            if slot.terminating {
                continue;
            }
            let kept = Kept::new(slot, number, flavors.of(slot), target);
            match kept.why_unfit(target, group) {
                None => draft.keep(kept),
                Some(why) => unfit.push((kept.order(), Release::of(slot, why))),
            }
        }
        draft.next_number = highest.map_or(0, |highest: u64| highest.wrapping_add(1));
        unfit.sort_by_key(|(order, _)| *order);
        draft.release.extend(unfit.into_iter().map(|(_, release)| release));
        draft
    }

    fn keep(&mut self, kept: Kept<'a>) {
        self.held += kept.size.memory;
        self.kept.push(kept);
    }

    /// Releases the slots at these positions.
    fn give_up(&mut self, gone: &BTreeSet<usize>, why: Why) {
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
        let update = written.into_iter().map(Kept::update).collect();
        SlotPlan { release: self.release, update, create: self.create, kept: self.kept.len() }
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

impl<'a> Kept<'a> {
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

    /// What was made smaller first and larger again needs its host's room only where it ends larger than it was.
    fn update(&self) -> Update {
        let enlarge_on = self.enlarge_on.clone().filter(|_| !self.size.fits(self.slot.size));
        Update { name: self.slot.name.clone(), size: self.size, enlarge_on }
    }

    /// Makes the slot larger where its host is known to have room, or says that it cannot.
    fn enlarge(&mut self, size: Resources, room: &mut BTreeMap<HostName, Resources>) -> Result<(), NoRoom> {
        if let Some(host) = &self.slot.target_host {
            let left = room.get_mut(host).ok_or(NoRoom::Unknown)?;
            let more = size - self.size;
            if !more.fits(*left) {
                return Err(NoRoom::Known);
            }
            *left -= more;
            self.enlarge_on = Some(host.clone());
        }
        self.size = size;
        Ok(())
    }
}

/// Why a slot is not enlarged.
enum NoRoom {
    /// Its host is full.
    Known,
    /// Nothing is known about its host.
    Unknown,
}

impl SlotPlan {
    /// True when there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.release.is_empty() && self.update.is_empty() && self.create.is_empty()
    }

    /// How many slots the commitment has when the plan is done: `n` in the texts of document 20.
    pub fn total(&self) -> usize {
        self.kept + self.create.len()
    }

    /// The slots that go.
    pub fn gone(&self) -> BTreeSet<&SlotName> {
        self.release.iter().map(|release| &release.name).collect()
    }
}

impl fmt::Display for SlotPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        lines.extend(self.release.iter().map(|r| format!("release {} ({:?})", r.name, r.why)));
        lines.extend(self.update.iter().map(|u| format!("write {}: {}", u.name, u.size)));
        lines.extend(self.create.iter().map(|c| format!("create {} of {}: {}", c.name, c.flavor.name, c.size)));
        f.write_str(if lines.is_empty() { "nothing to do".to_owned() } else { lines.join("; ") }.as_str())
    }
}

#[cfg(test)]
mod tests;
