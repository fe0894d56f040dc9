//! The open change that a commitment belongs to, and what its commitments hand to each other (docs/architecture.md, "Changes
//! of commitments").

use berth_cluster::indexes::CHANGE_BY_COMMITMENT;
use berth_cluster::{ObjectKey, Store};
use berth_core::commitment::{Phase, ResourceType, Spec};
use berth_core::flavor::FlavorGroups;
use berth_core::planner::{FormerSlot, Target};
use berth_core::slot::Slot;
use berth_core::slot_exchange::{GroupMember, SlotExchange, exchange_slots};
use berth_core::{Bytes, ClusterName, CommitmentUuid, SlotKey};
use berth_crds::commitment_change::{ChangeItem, ChangePhase};
use berth_crds::{CommitmentChange, CommittedResource, CommittedResourceSpec, Reservation, facts};
use berth_scheduler::Scheduler;
use jiff::Timestamp;

/// The commitments of a change that is under way, real or as a dry run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeGroup {
    pub(crate) name: String,
    /// It is being applied, and will be accepted or undone soon.
    pub(crate) is_being_applied: bool,
    pub(crate) members: Vec<ChangeMember>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct ChangeMember {
    pub(crate) uuid: CommitmentUuid,
    /// What is written to it; `None` if it is deleted.
    pub(crate) wanted: Option<Spec>,
    /// Its slots from before the change, while it is undone.
    pub(crate) former: Option<Vec<FormerSlot>>,
}

/// The part of an open change that concerns one commitment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenChangeFacts {
    pub name: String,
    /// It is being applied, and will be accepted or undone soon.
    pub is_being_applied: bool,
    /// It is decided, and no commitment of the change needs any more what the others release.
    pub is_handed_over: bool,
    /// Slots that others release and that this commitment gets as they are.
    pub offered: Vec<Slot>,
    /// Slots whose capacity others release, and that no commitment takes over.
    pub left: Vec<SlotKey>,
    /// Its own slots from before the change, while it is undone.
    pub former: Vec<FormerSlot>,
    /// What counted as accepted before the change, once a roll-back has restored the spec.
    pub restored: Option<FormerAcceptance>,
}

/// What counted as accepted before a change, if anything did.
#[derive(Clone, Debug, PartialEq)]
pub struct FormerAcceptance(pub Option<CommittedResourceSpec>);

impl ChangeGroup {
    /// The commitments of a change concern each other from its creation, because their specs are written along with its first status.
    pub(crate) fn of(change: &CommitmentChange) -> Option<Self> {
        let phase = change.phase();
        if !facts::is_open(change) {
            return None;
        }
        let is_undone = phase.is_undoing();
        let member = |(place, item): (usize, &ChangeItem)| ChangeMember {
            uuid: item.commitment_uuid.as_str().into(),
            wanted: if is_undone { facts::spec_before(item) } else { facts::spec_after(item) },
            former: is_undone.then(|| former_slots(change, place)),
        };
        let members = change.spec.items.iter().enumerate().map(member).collect();
        let name = change.metadata.name.clone().unwrap_or_default();
        Some(Self { name, is_being_applied: matches!(phase, ChangePhase::Pending | ChangePhase::Applying), members })
    }

    /// The commitments that give and take; a paused one keeps what it has.
    pub(crate) fn without(&self, is_paused: impl Fn(&CommitmentUuid) -> bool) -> Self {
        let members = self.members.iter().filter(|member| !is_paused(&member.uuid)).cloned().collect();
        Self { members, ..self.clone() }
    }

    /// Whether no other commitment needs any more what this one releases: all have what they shall have, of their own kind. While
    /// the change is undone its spec must be the former one again, because otherwise it would release everything.
    pub(crate) fn is_handed_over(&self, present: &Spec, slots: impl Fn(&CommitmentUuid) -> Vec<Slot>) -> bool {
        let own = self.members.iter().find(|member| member.uuid == present.uuid);
        let is_restored =
            own.is_none_or(|own| own.former.is_none() || own.wanted.as_ref().is_none_or(|spec| spec == present));
        let has_enough = |member: &ChangeMember| {
            let Some(spec) = member.wanted.as_ref().filter(|spec| holds_memory(spec)) else { return true };
            let is_alike = |slot: &&Slot| {
                (&slot.project, &slot.group, &slot.zone) == (&spec.project, &spec.group, &spec.zone)
                    && !slot.terminating
            };
            let own: Bytes = slots(&member.uuid).iter().filter(is_alike).map(|slot| slot.size.memory).sum();
            let former = member.former.as_ref().map(|former| former.iter().map(|slot| slot.size.memory).sum());
            own >= former.unwrap_or(spec.memory()).min(spec.memory())
        };
        !self.is_being_applied && is_restored && self.members.iter().all(has_enough)
    }

    /// What becomes of the slots of this cluster, which `slots` lists by commitment.
    pub(crate) fn exchange(
        &self,
        slots: impl Fn(&CommitmentUuid) -> Vec<Slot>,
        groups: Option<&FlavorGroups>,
    ) -> SlotExchange {
        let member = |member: &ChangeMember| GroupMember {
            commitment: member.uuid.clone(),
            target: member.wanted.as_ref().filter(|spec| holds_memory(spec)).map(target),
            slots: slots(&member.uuid),
            former: member.former.clone().filter(|_| member.wanted.is_some()),
        };
        let members: Vec<_> = self.members.iter().map(member).collect();
        exchange_slots(&members, groups.unwrap_or(&FlavorGroups::default()))
    }

    pub(crate) fn facts(
        &self,
        uuid: &CommitmentUuid,
        cluster: &ClusterName,
        exchange: SlotExchange,
    ) -> OpenChangeFacts {
        let SlotExchange { mut offered, left } = exchange;
        let own = self.members.iter().find(|member| member.uuid == *uuid);
        OpenChangeFacts {
            name: self.name.clone(),
            is_being_applied: self.is_being_applied,
            is_handed_over: false,
            offered: offered.remove(uuid).unwrap_or_default(),
            left: left.into_iter().map(|name| SlotKey::new(cluster.clone(), name)).collect(),
            former: own.and_then(|member| member.former.clone()).unwrap_or_default(),
            restored: None,
        }
    }
}

/// The open change of a commitment. There is at most one, because changes of the same commitments wait for each other.
pub(crate) fn open_change(changes: &Store<CommitmentChange>, uuid: &str) -> Option<(ObjectKey, ChangeGroup)> {
    let open = changes.select(&CHANGE_BY_COMMITMENT, uuid);
    open.into_iter().find_map(|entry| Some((entry.key, ChangeGroup::of(&entry.object)?)))
}

/// The accepted spec from before a change that is undone, if the spec of the commitment is the former one again.
pub(crate) fn accepted_before(
    changes: &Store<CommitmentChange>,
    object: &CommittedResource,
) -> Option<FormerAcceptance> {
    let open = changes.select(&CHANGE_BY_COMMITMENT, &object.spec.commitment_uuid);
    let undone = open.into_iter().find(|entry| entry.object.phase().is_undoing())?;
    let before = undone.object.item(&object.spec.commitment_uuid)?.before.as_ref()?;
    (before.spec == object.spec).then(|| FormerAcceptance(before.accepted_spec.clone()))
}

/// Holds the capacity of slots that open changes have deleted, for a process that takes over: before any reconciliation. It is
/// needed again when a change is undone, and until its end by its own commitments.
pub fn hold_released_capacity<S: Scheduler>(
    changes: &Store<CommitmentChange>,
    reservations: &Store<Reservation>,
    scheduler: &S,
) {
    for entry in changes.all().iter().filter(|entry| facts::is_open(&entry.object)) {
        let all = (0..entry.object.spec.items.len()).flat_map(|place| former_slots(&entry.object, place));
        let is_gone = |slot: &FormerSlot| reservations.holders(&slot.name.as_str().into()).is_empty();
        let gone: Vec<_> = all.filter(is_gone).filter_map(|slot| Some((slot.host?, slot.size))).collect();
        scheduler.hold_for_change(&entry.key.name, &gone);
    }
}

pub(crate) fn former_slots(change: &CommitmentChange, place: usize) -> Vec<FormerSlot> {
    change.slots_before(place).iter().map(facts::former_slot).collect()
}

fn holds_memory(spec: &Spec) -> bool {
    spec.resource == ResourceType::Memory && spec.phase(Timestamp::MIN) == Phase::Wanted
}

/// Names and times of its slots do not matter here.
fn target(spec: &Spec) -> Target {
    Target {
        commitment: spec.uuid.clone(),
        project: spec.project.clone(),
        domain: spec.domain.clone(),
        group: spec.group.clone(),
        zone: spec.zone.clone(),
        memory: spec.memory(),
        start: spec.start,
        end: spec.end,
        generation: 0,
        prefix: String::new(),
    }
}
