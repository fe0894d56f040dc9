//! Read: gathers the facts about one commitment from the stores and the newest view.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::indexes::{CHANGE_BY_MEMBER, COMMITMENT_BY_UUID};
use berth_cluster::{Entry, InvalidEntry, ObjectKey, Pauses, Routes, Store};
use berth_core::CommitmentUuid;
use berth_core::commitment::Phase;
use berth_crds::conditions::commitment::Reason;
use berth_crds::{CommitmentChange, CommittedResource, conditions, facts, labels, names};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::error::Error;
use crate::plan::{ChangeState, StoredCommitment, StoredFacts, SyncFacts};
use crate::recent::RecentChanges;
use crate::view::Began;
use crate::views::PendingComparison;

/// The sources of facts.
pub(crate) struct Reader<'a> {
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) changes: &'a Store<CommitmentChange>,
    pub(crate) routes: &'a Routes,
    pub(crate) pauses: &'a Pauses,
    pub(crate) recent: &'a RecentChanges,
    pub(crate) quiet_period: Duration,
    pub(crate) ends_stale: bool,
}

/// Our object, and its key.
pub(crate) type StoredObject = (ObjectKey, Arc<CommittedResource>);

impl Reader<'_> {
    /// The facts, and the object if there is one. An error while there is none and it is not known whether there is one.
    pub(crate) fn facts<'v>(
        &self,
        uuid: &CommitmentUuid,
        pending: &'v PendingComparison,
        now: Option<Timestamp>,
    ) -> Result<(SyncFacts<'v>, Option<StoredObject>), Error> {
        let listed = pending.view.get(uuid);
        let began = listed.map_or(pending.view.began, |entry| entry.began);
        let mut found = self.commitments.select(&COMMITMENT_BY_UUID, uuid.as_str());
        if found.is_empty() {
            self.require_known(uuid)?;
        }
        let one = if found.len() == 1 { found.pop() } else { None };
        let stored = match &one {
            Some(entry) => StoredCommitment::One(self.stored(uuid, entry, now)),
            None if found.is_empty() => StoredCommitment::Absent,
            None => StoredCommitment::Several,
        };
        let facts = SyncFacts {
            listed,
            complete: pending.view.require_complete().ok(),
            unlisted: pending.unlisted.clone(),
            stored,
            has_changed: self.recent.has_changed_since(uuid, began.instant),
            change: self.change(uuid, began),
            now,
            ends_stale: self.ends_stale,
        };
        Ok((facts, one.or_else(|| found.into_iter().next()).map(|entry| (entry.key, entry.object))))
    }

    /// In every cluster, because an object may be in any of them. Unreadable objects of other commitments do not matter.
    fn require_known(&self, uuid: &CommitmentUuid) -> Result<(), Error> {
        let name = names::commitment(uuid.as_str());
        let concerns = |invalid: &InvalidEntry| {
            *invalid.key.name == *name || invalid.raw["spec"]["commitmentUUID"] == uuid.as_str()
        };
        for cluster in self.routes.clusters::<CommittedResource>()? {
            self.commitments.require_complete_for(&cluster, concerns)?;
        }
        Ok(())
    }

    fn stored(&self, uuid: &CommitmentUuid, entry: &Entry<CommittedResource>, now: Option<Timestamp>) -> StoredFacts {
        let object = &entry.object;
        let created = object.creation_timestamp().map(|time| time.0);
        StoredFacts {
            spec: facts::spec(object),
            is_not_yet_listed: object.annotations().contains_key(labels::NOT_YET_LISTED),
            last_change: self.ends_of_changes(uuid).chain(created).max().unwrap_or_default(),
            is_being_deleted: object.metadata.deletion_timestamp.is_some(),
            is_paused: self.pauses.commitment(object).is_some(),
            is_undecided: is_undecided(object, now),
            is_served: object.spec.scheduling_domain.as_deref().is_none_or(|domain| domain == labels::NOVA),
        }
    }

    fn change(&self, uuid: &CommitmentUuid, began: Began) -> ChangeState {
        let changes = self.changes.select(&CHANGE_BY_MEMBER, uuid.as_str());
        if changes.iter().any(|entry| facts::is_open(&entry.object)) {
            return ChangeState::Open;
        }
        let is_recent =
            |end: Timestamp| end.saturating_add(self.quiet_period).map_or(true, |quiet_from| quiet_from > began.time);
        if self.ends_of_changes(uuid).any(is_recent) { ChangeState::Recent } else { ChangeState::None }
    }

    fn ends_of_changes(&self, uuid: &CommitmentUuid) -> impl Iterator<Item = Timestamp> + use<> {
        let changes = self.changes.select(&CHANGE_BY_MEMBER, uuid.as_str());
        changes.into_iter().filter_map(|entry| {
            let finished = entry.object.status.as_ref().and_then(|status| status.finished_at.clone());
            finished.or_else(|| entry.object.creation_timestamp()).map(|time| time.0)
        })
    }
}

/// Whether it may still be rejected: then its spec is about to be changed back.
fn is_undecided(object: &CommittedResource, now: Option<Timestamp>) -> bool {
    let is_wanted = now.is_none_or(|now| facts::spec(object).phase(now) == Phase::Wanted);
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let is_decided = conditions::ready(conditions).is_some_and(|ready| {
        ready.observed_generation == object.metadata.generation
            && Reason::parse(&ready.reason) != Some(Reason::Reserving)
    });
    object.spec.allow_rejection && is_wanted && !is_decided
}

#[cfg(test)]
mod tests {
    use berth_crds::conditions::{Status, ready_condition};
    use berth_crds::testing::commitment;

    use super::*;

    fn undecided(allow_rejection: bool, condition: Option<(Status, &str, i64)>) -> bool {
        let mut object = commitment("uuid-1", "480Gi");
        object.spec.allow_rejection = allow_rejection;
        let time = Timestamp::UNIX_EPOCH;
        let ready = |(status, reason, generation)| ready_condition(status, reason, "", Some(generation), time);
        object.status.get_or_insert_default().conditions = condition.map(ready).into_iter().collect();
        is_undecided(&object, Some(time))
    }

    #[test]
    fn a_commitment_that_may_be_rejected_is_undecided_until_its_controller_has_decided() {
        assert!(undecided(true, None));
        assert!(undecided(true, Some((Status::True, "Accepted", 0))), "about an older spec");
        assert!(undecided(true, Some((Status::False, "Reserving", 1))));
        assert!(!undecided(true, Some((Status::True, "Accepted", 1))));
        assert!(!undecided(true, Some((Status::False, "Rejected", 1))));
        assert!(!undecided(false, None), "it is tried for ever");
    }
}
