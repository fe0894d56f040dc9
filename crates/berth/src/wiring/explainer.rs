//! Collects what only the leading process knows about an object, for `berth explain`. It reads memory and changes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::indexes::RESERVATION_BY_COMMITMENT;
use berth_cluster::{Activity, KeyFailures, KeyState, ObjectKey};
use berth_core::{HostName, SlotKey, VmId, slot};
use berth_limes_syncer::KnownListing;
use berth_scheduler_api::Role;
use berth_scheduler_api::explain::{
    Explainer, LeaderAnswer, LimesAnswer, MissingVm, Reconciliation, ReconciliationFailure, ReconciliationState,
    SlotAnswer, Subject,
};
use berth_telemetry::clock::Clock;
use jiff::{Timestamp, Unit};
use tokio::time::Instant;

use super::{Controllers, DecidingState, Memory};

/// Rows of a list of an answer.
const MOST: usize = 300;

/// Answers from the memory of this process.
pub struct MemoryExplainer {
    memory: Memory,
    deciding: DecidingState,
    clock: Arc<dyn Clock>,
}

impl MemoryExplainer {
    pub fn new(memory: &Memory, deciding: DecidingState, clock: Arc<dyn Clock>) -> Self {
        Self { memory: memory.clone(), deciding, clock }
    }
}

impl Explainer for MemoryExplainer {
    fn role(&self) -> Role {
        self.deciding.role()
    }

    fn explain(&self, subject: &Subject) -> Option<LeaderAnswer> {
        let now = Now { time: self.clock.now(), instant: Instant::now() };
        let known = Known { memory: &self.memory, controllers: self.deciding.controllers()?, now };
        let answer = match subject {
            Subject::Commitment(key) => known.commitment(key),
            Subject::Slot(key) => known.slot(key),
            Subject::Host(name) => known.host(name),
        };
        Some(LeaderAnswer { leader: self.deciding.me().to_owned(), now: rounded(now.time), ..answer? })
    }
}

/// The memory of a process at one moment.
struct Known<'m> {
    memory: &'m Memory,
    controllers: &'m Controllers,
    now: Now,
}

impl Known<'_> {
    fn commitment(&self, key: &ObjectKey) -> Option<LeaderAnswer> {
        let (stores, queues) = (&self.memory.stores, &self.memory.queues);
        let spec = &stores.commitments.get(key)?.spec;
        let found = stores.reservations.select(&RESERVATION_BY_COMMITMENT, &spec.commitment_uuid);
        let keys: BTreeSet<ObjectKey> = found.into_iter().map(|entry| entry.key).collect();
        let mut telling = keys.iter().filter_map(|key| self.telling_slot(key));
        let slots = telling.by_ref().take(MOST).collect();
        // A slot that is being created is not in the store yet.
        let prefix = format!("{}-", key.name);
        let is_own = |key: &SlotKey| slot::number(&key.name, &prefix).is_some() || keys.contains(&key.into());
        let promises = self.memory.scheduler.promises_in(&spec.availability_zone.as_str().into(), is_own, MOST);
        let reconciliation = Some(self.now.reconciliation(queues.commitments.state(key)));
        let limes = self.controllers.syncer().and_then(|syncer| syncer.views().listing(&spec.commitment_uuid));
        let limes = limes.as_ref().map(limes_answer);
        let slots_left_out = telling.count();
        let answer = LeaderAnswer { reconciliation, slots, slots_left_out, limes, ..LeaderAnswer::default() };
        Some(answer.with_promises(&promises))
    }

    fn slot(&self, key: &ObjectKey) -> Option<LeaderAnswer> {
        let object = self.memory.stores.reservations.get(key)?;
        let (zone, own) = (object.spec.availability_zone.as_deref().unwrap_or_default(), SlotKey::from(key));
        let slot = self.slot_answer(key)?.1;
        let promises = self.memory.scheduler.promises_in(&zone.into(), |key| *key == own, MOST);
        let reconciliation = Some(slot.reconciliation.clone());
        let answer = LeaderAnswer { reconciliation, slots: vec![slot], ..LeaderAnswer::default() };
        Some(answer.with_promises(&promises))
    }

    fn host(&self, name: &HostName) -> Option<LeaderAnswer> {
        let promises = self.memory.scheduler.promises_on(name, MOST)?;
        Some(LeaderAnswer::default().with_promises(&promises))
    }

    /// The slot, if it has no host, misses something, or fails.
    fn telling_slot(&self, key: &ObjectKey) -> Option<SlotAnswer> {
        let (has_host, slot) = self.slot_answer(key)?;
        let misses = slot.host_missing_since.is_some() || !slot.missing_vms.is_empty();
        (!has_host || misses || slot.reconciliation.failure.is_some()).then_some(slot)
    }

    /// Whether the slot has a host, and what is known about it.
    fn slot_answer(&self, key: &ObjectKey) -> Option<(bool, SlotAnswer)> {
        let (memory, now) = (self.controllers.slots().memory(key)?, self.now);
        let missing = |(vm, time): (&VmId, &Duration)| MissingVm { vm: vm.to_string(), since: now.ago(*time) };
        let slot = SlotAnswer {
            cluster: key.cluster.to_string(),
            name: key.name.to_string(),
            reconciliation: now.reconciliation(self.memory.queues.slots.state(key)),
            next_try: memory.next_try.map(|due| now.at(due)),
            host_missing_since: memory.host_missing_for.map(|time| now.ago(time)),
            missing_vms: memory.vms_missing_for.iter().map(missing).collect(),
        };
        Some((memory.has_host, slot))
    }
}

fn limes_answer(known: &KnownListing) -> LimesAnswer {
    LimesAnswer {
        listed: known.describe(),
        since: known.entry.as_ref().map(|entry| rounded(entry.since)),
        read_at: rounded(known.view_began),
        incomplete: known.incomplete.clone(),
    }
}

/// Both clocks at one moment.
#[derive(Clone, Copy)]
struct Now {
    time: Timestamp,
    instant: Instant,
}

impl Now {
    fn at(self, then: Instant) -> Timestamp {
        match then.checked_duration_since(self.instant) {
            Some(left) => rounded(self.time.saturating_add(left).unwrap_or(self.time)),
            None => self.ago(self.instant.saturating_duration_since(then)),
        }
    }

    fn ago(self, time: Duration) -> Timestamp {
        rounded(self.time.saturating_sub(time).unwrap_or(self.time))
    }

    fn reconciliation(self, state: KeyState) -> Reconciliation {
        let (state, failures, next) = match state.activity {
            Activity::Running => (ReconciliationState::Running, state.failures, None),
            Activity::Queued => (ReconciliationState::Queued, state.failures, None),
            Activity::Idle(due) => (ReconciliationState::Idle, state.failures, due.map(|due| self.at(due))),
        };
        let failure = |KeyFailures { count, class, error }| ReconciliationFailure {
            class: class.as_str().to_owned(),
            attempts: count,
            error,
        };
        Reconciliation { state, next, failure: failures.map(failure) }
    }
}

/// To a second: the clocks are not read at the same moment.
fn rounded(time: Timestamp) -> Timestamp {
    time.round(Unit::Second).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use berth_cluster::ErrorClass;

    use super::*;

    fn noon() -> Now {
        Now { time: "2026-03-01T12:00:00.4Z".parse().unwrap(), instant: Instant::now() }
    }

    #[test]
    fn times_are_those_of_the_wall_clock_to_a_second() {
        let (now, minute) = (noon(), Duration::from_secs(60));
        assert_eq!(now.at(now.instant + minute).to_string(), "2026-03-01T12:01:00Z");
        assert_eq!(now.at(now.instant.checked_sub(minute).unwrap()).to_string(), "2026-03-01T11:59:00Z");
        assert_eq!(now.ago(minute).to_string(), "2026-03-01T11:59:00Z");
    }

    #[test]
    fn only_an_idle_object_has_a_time() {
        let now = noon();
        let error = "no answer".to_owned();
        let failures = Some(KeyFailures { count: 3, class: ErrorClass::Transient, error: error.clone() });
        let of = |activity| now.reconciliation(KeyState { activity, failures: failures.clone() });
        let failure = Some(ReconciliationFailure { class: "transient".to_owned(), attempts: 3, error });
        let next = Some(now.at(now.instant));
        for (activity, state, next) in [
            (Activity::Running, ReconciliationState::Running, None),
            (Activity::Queued, ReconciliationState::Queued, None),
            (Activity::Idle(None), ReconciliationState::Idle, None),
            (Activity::Idle(Some(now.instant)), ReconciliationState::Idle, next),
        ] {
            assert_eq!(of(activity), Reconciliation { state, next, failure: failure.clone() });
        }
    }
}
