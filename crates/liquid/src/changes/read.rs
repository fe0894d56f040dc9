//! Read: gathers the facts of a change from the stores.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::indexes::RESERVATION_BY_COMMITMENT;
use berth_cluster::{Kind, ObjectKey, Pauses, RouteError, Routes, Store};
use berth_core::Bytes;
use berth_core::commitment::{Phase, ResourceType, Spec};
use berth_core::liquid::changes::{Effect, SpecChange, WriteOrder, order_writes};
use berth_core::slot::Slot;
use berth_crds::commitment_change::ChangeItem;
use berth_crds::{
    CommitmentChange, CommitmentState, CommittedResource, CommittedResourceSpec, Reservation, facts, labels, names,
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::outcome::{is_observed, is_reserving, outcome};
use super::under_way::Progress;
use super::{ChangeFacts, ItemFacts, ItemOutcome, ItemState};

/// The sources of facts.
pub(super) struct Reader<'a> {
    pub(super) commitments: &'a Store<CommittedResource>,
    pub(super) reservations: &'a Store<Reservation>,
    pub(super) pauses: &'a Pauses,
    pub(super) routes: &'a Routes,
    pub(super) now: Timestamp,
}

/// A commitment of a change with the specs that matter to it.
pub(super) struct ChangedCommitment {
    pub(super) key: ObjectKey,
    pub(super) object: Option<Arc<CommittedResource>>,
    /// What the change writes to it; `None` if nothing is written.
    pub(super) written: Option<CommittedResourceSpec>,
    effect: Effect,
}

impl Reader<'_> {
    pub(super) fn facts(
        &self,
        change: &CommitmentChange,
        progress: Option<&Progress>,
        commitments: &[ChangedCommitment],
    ) -> ChangeFacts {
        let left = change.spec.deadline.0.duration_since(self.now);
        let items = change.spec.items.iter().zip(commitments).enumerate();
        let slots_given_up = self.is_given_up(change, self.reservations);
        let hands_over =
            change.spec.slots_gzip.is_some() || change.spec.items.iter().any(|item| !item.slots.is_empty());
        let item = |(place, (item, one)): (usize, (&ChangeItem, &ChangedCommitment))| {
            let facts = self.item(change, place, item, one, progress);
            let is_on_its_way = |object| self.lacks_slots(object) || self.has_surplus(object);
            let waits = hands_over && !facts.is_paused && one.object.as_deref().is_some_and(is_on_its_way);
            ItemFacts {
                is_settled: facts.is_settled && !waits || slots_given_up,
                is_whole: facts.is_whole || slots_given_up,
                has_surplus: facts.has_surplus && !slots_given_up,
                ..facts
            }
        };
        ChangeFacts {
            phase: change.phase(),
            is_finished: !facts::is_open(change),
            is_own: progress.is_some(),
            is_abandoned: progress.is_some_and(|progress| progress.is_abandoned),
            is_deleting: change.metadata.deletion_timestamp.is_some(),
            left: Duration::try_from(left).unwrap_or_default(),
            requires_confirmation: change.spec.requires_confirmation,
            is_unread: self.is_unread(change, self.commitments)
                || !slots_given_up && self.is_unread(change, self.reservations),
            items: items.map(item).collect(),
        }
    }

    pub(super) fn commitments(&self, change: &CommitmentChange) -> Result<Vec<ChangedCommitment>, RouteError> {
        let cluster = self.routes.target::<CommittedResource>(Some(&change.spec.availability_zone))?;
        let specs: Vec<_> = change.spec.items.iter().map(spec_change).collect();
        // The time of the admission, so that the order is the same in every run.
        let admitted_at = change.creation_timestamp().map_or(self.now, |time| time.0);
        let WriteOrder { specs: writes, .. } = order_writes(&specs, admitted_at);
        let one = |(place, (item, specs)): (usize, (&ChangeItem, &SpecChange))| {
            let key = ObjectKey::new(cluster.clone(), names::commitment(&item.commitment_uuid));
            let is_written = writes.iter().any(|(written, _)| *written == place);
            ChangedCommitment {
                object: self.commitments.get(&key),
                key,
                written: is_written.then(|| written_spec(item)).flatten(),
                effect: specs.effect(admitted_at),
            }
        };
        Ok(change.spec.items.iter().zip(&specs).enumerate().map(one).collect())
    }

    /// Whether a user has given up the cluster that serves this kind in the zone of the change, and it cannot be read.
    pub(super) fn is_given_up<K: Kind>(&self, change: &CommitmentChange, store: &Store<K>) -> bool {
        let given_up = facts::given_up_clusters(change);
        let target = || self.routes.target::<K>(Some(&change.spec.availability_zone));
        !given_up.is_empty()
            && target().map_or_else(
                |error| error.is_no_cluster_matched(),
                |cluster| given_up.contains(&cluster) && store.require_synced(&cluster).is_err(),
            )
    }

    fn is_unread<K: Kind>(&self, change: &CommitmentChange, store: &Store<K>) -> bool {
        let target = self.routes.target::<K>(Some(&change.spec.availability_zone));
        target.is_ok_and(|cluster| store.require_synced(&cluster).is_err())
    }

    fn item(
        &self,
        change: &CommitmentChange,
        place: usize,
        item: &ChangeItem,
        one: &ChangedCommitment,
        progress: Option<&Progress>,
    ) -> ItemFacts {
        let object = one.object.as_deref();
        let is_new = item.before.is_none();
        let is_of_change = |object: &CommittedResource| creator(object) == Some(change.spec.request_id.as_str());
        ItemFacts {
            uuid: item.commitment_uuid.clone(),
            releases: one.effect == Effect::Releases,
            is_deleted_at_end: item.after.is_none(),
            state: state(item, one, progress),
            outcome: item_outcome(item, one, change.creation_timestamp().map(|time| time.0), self.now),
            is_settled: object.is_none_or(|object| {
                let has_ended = item.after.is_none() && self.held(&item.commitment_uuid) == Bytes::ZERO;
                let is_decided = item.after.is_some() && is_observed(object);
                has_ended || is_decided || self.pauses.commitment(object).is_some()
            }),
            exists: object.is_some_and(|object| {
                object.metadata.deletion_timestamp.is_none() && (!is_new || is_of_change(object))
            }),
            is_to_restore: object.is_some_and(|object| match &item.before {
                Some(before) => one.written.as_ref() == Some(&object.spec) && object.spec != before.spec,
                None => {
                    is_of_change(object) && !has_ended(&object.spec) && object.metadata.deletion_timestamp.is_none()
                }
            }),
            is_paused: object.is_some_and(|object| self.pauses.commitment(object).is_some()),
            is_whole: object.is_none_or(|object| self.is_whole(change, place, object)),
            has_surplus: object.is_some_and(|object| {
                item.before.as_ref().is_some_and(|before| before.spec == object.spec) && self.has_surplus(object)
            }),
            is_new,
        }
    }

    /// Whether a commitment that is restored has everything back: its acceptance, and as much in slots as before. One that
    /// exists only because of the change has none. One that another writer has changed since is left to it.
    fn is_whole(&self, change: &CommitmentChange, place: usize, object: &CommittedResource) -> bool {
        let Some(before) = change.spec.items.get(place).and_then(|item| item.before.as_ref()) else {
            return self.held(&object.spec.commitment_uuid) == Bytes::ZERO
                || creator(object) != Some(&change.spec.request_id);
        };
        if object.spec != before.spec || object.metadata.deletion_timestamp.is_some() {
            return true;
        }
        let accepted = object.status.as_ref().and_then(|status| status.accepted_spec.as_ref());
        let is_accepted = accepted == before.accepted_spec.as_ref() || accepted == Some(&object.spec);
        let former = change.slots_before(place);
        let all: Bytes = former.iter().map(|slot| facts::size(&slot.resources).memory).sum();
        // What it had too much was about to be released.
        let wanted = all.min(facts::spec(object).memory());
        is_observed(object) && is_accepted && self.held(&object.spec.commitment_uuid) >= wanted
    }

    /// Whether it is still on its way to its slots, for example because a write has failed: until it has them, the others
    /// must not give theirs up.
    fn lacks_slots(&self, object: &CommittedResource) -> bool {
        let spec = facts::spec(object);
        is_reserving(object)
            && spec.resource == ResourceType::Memory
            && spec.phase(self.now) == Phase::Wanted
            && self.held_alike(&spec) < spec.memory()
    }

    /// Whether it still has slots that it does not need any more. The next change of the zone may need them.
    fn has_surplus(&self, object: &CommittedResource) -> bool {
        let spec = facts::spec(object);
        let wanted = if spec.resource == ResourceType::Memory && spec.phase(self.now) == Phase::Wanted {
            spec.memory()
        } else {
            Bytes::ZERO
        };
        self.held(&object.spec.commitment_uuid) > wanted
    }

    /// Without slots that must be replaced, for example because they belong to a former project.
    fn held_alike(&self, spec: &Spec) -> Bytes {
        let slots = self.reservations.select(&RESERVATION_BY_COMMITMENT, spec.uuid.as_str());
        let slots = slots.iter().map(|entry| facts::slot(&entry.object));
        let is_alike =
            |slot: &Slot| (&slot.project, &slot.group, &slot.zone) == (&spec.project, &spec.group, &spec.zone);
        slots.filter(is_alike).map(|slot| slot.size.memory).sum()
    }

    fn held(&self, uuid: &str) -> Bytes {
        let slots = self.reservations.select(&RESERVATION_BY_COMMITMENT, uuid);
        slots.iter().map(|entry| facts::size(&entry.object.spec.resources).memory).sum()
    }
}

fn spec_change(item: &ChangeItem) -> SpecChange {
    SpecChange { before: facts::spec_before(item), after: facts::spec_after(item) }
}

/// A commitment that is deleted releases first what others need.
fn written_spec(item: &ChangeItem) -> Option<CommittedResourceSpec> {
    let released = || item.before.as_ref().map(|before| facts::superseded_spec(&before.spec));
    item.after.clone().or_else(released)
}

pub(super) fn creator(object: &CommittedResource) -> Option<&str> {
    object.annotations().get(labels::CREATOR_REQUEST_ID).map(String::as_str)
}

fn has_ended(spec: &CommittedResourceSpec) -> bool {
    matches!(spec.state, CommitmentState::Superseded | CommitmentState::Expired)
}

fn state(item: &ChangeItem, one: &ChangedCommitment, progress: Option<&Progress>) -> ItemState {
    let Some(wanted) = &one.written else { return ItemState::AsWanted };
    let written = progress.and_then(|progress| progress.written.get(item.commitment_uuid.as_str()));
    match (&one.object, &item.before, written) {
        (Some(object), _, _) if object.metadata.deletion_timestamp.is_some() => ItemState::Conflicting,
        (Some(object), _, _) if object.spec == *wanted => ItemState::AsWanted,
        (Some(_), _, Some(written)) => ItemState::Overwritten { times: written.overwritten },
        (None, None, None) => ItemState::AsBefore,
        (Some(object), Some(before), None)
            if object.metadata.generation == Some(before.generation) && object.uid().as_ref() == Some(&before.uid) =>
        {
            ItemState::AsBefore
        }
        _ => ItemState::Conflicting,
    }
}

/// Whether the commitment had ended when the request was admitted.
fn was_over(item: &ChangeItem, admitted_at: Timestamp) -> bool {
    facts::spec_before(item).is_some_and(|before| matches!(before.phase(admitted_at), Phase::Ended(_)))
}

fn item_outcome(
    item: &ChangeItem,
    one: &ChangedCommitment,
    admitted_at: Option<Timestamp>,
    now: Timestamp,
) -> ItemOutcome {
    let wanted: Option<Spec> = facts::spec_after(item);
    match (&one.object, wanted) {
        (_, None) => ItemOutcome::Accepted,
        (Some(object), Some(wanted)) => outcome(object, &wanted, was_over(item, admitted_at.unwrap_or(now)), now),
        (None, Some(wanted)) if wanted.phase(now) != Phase::Wanted => ItemOutcome::Accepted,
        (None, Some(_)) => ItemOutcome::Waiting,
    }
}
