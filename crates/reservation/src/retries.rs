//! When slots without a host are tried again. Those of a commitment are tried together, by one timer that doubles: the
//! scheduler gives listed slots the capacity that becomes free, so the timer is only a safeguard.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_cluster::ObjectKey;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::status::SlotReady;

/// The longest pause between two tries of a commitment's slots.
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// The slots without a host, by commitment.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    all: Mutex<AllRetries>,
}

#[derive(Debug, Default)]
struct AllRetries {
    by_commitment: BTreeMap<String, CommitmentRetries>,
    commitments: BTreeMap<ObjectKey, String>,
}

#[derive(Debug, Default)]
struct CommitmentRetries {
    untried: BTreeSet<ObjectKey>,
    tried: BTreeMap<ObjectKey, Attempt>,
    timer: Option<Timer>,
}

/// When the listed slots of a commitment are tried together.
#[derive(Clone, Debug)]
struct Timer {
    /// The slot that is requeued for all of them.
    slot: ObjectKey,
    pause: Duration,
    due: Instant,
}

#[derive(Clone, Debug)]
struct Attempt {
    /// The generation of the slot that was tried.
    generation: Option<i64>,
    outcome: Outcome,
}

/// The outcome of a try that found no host.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The scheduler has the slot in its waiting list.
    Listed,
    /// The slot has this condition, and is tried again by itself.
    Failed { ready: SlotReady, due: Instant },
}

/// A slot without a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingSlot<'a> {
    /// UUID of its commitment.
    pub commitment: &'a str,
    pub key: &'a ObjectKey,
    pub generation: Option<i64>,
}

/// Whether a slot is tried now.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn {
    /// It is, together with these slots of its commitment.
    Try(Vec<ObjectKey>),
    /// It is not. The condition is that of its last failure.
    Wait { failure: Option<SlotReady>, requeue_after: Option<Duration> },
}

impl Retries {
    /// The slot has no host and was not tried yet.
    pub(crate) fn add_untried(&self, commitment: &str, key: &ObjectKey) {
        let mut all = self.all.lock();
        let retries = all.of(commitment, key);
        if !retries.tried.contains_key(key) {
            retries.untried.insert(key.clone());
        }
    }

    /// Whether the slot is tried now: a new or changed one is, one that has left the waiting list without a host, and all
    /// that are due.
    pub(crate) fn choose_turn(&self, slot: WaitingSlot<'_>, is_listed: bool, now: Instant) -> Turn {
        let mut all = self.all.lock();
        let retries = all.of(slot.commitment, slot.key);
        match retries.tried.get(slot.key).filter(|attempt| attempt.generation == slot.generation) {
            Some(Attempt { outcome: Outcome::Listed, .. }) if is_listed && !retries.is_due(now) => {
                Turn::Wait { failure: None, requeue_after: retries.time_until_due(slot.key, now) }
            }
            Some(Attempt { outcome: Outcome::Failed { ready, due }, .. }) if *due > now => {
                Turn::Wait { failure: Some(ready.clone()), requeue_after: Some(*due - now) }
            }
            _ => Turn::Try(retries.others(slot.key, now)),
        }
    }

    /// Slots of one commitment were tried together. The first one becomes the one with the timer if there is none or it was
    /// due. Returns when that one is tried again.
    pub(crate) fn record(
        &self,
        slots: &[WaitingSlot<'_>],
        outcome: &Outcome,
        first_pause: Duration,
        now: Instant,
    ) -> Option<Duration> {
        let (mut all, first) = (self.all.lock(), slots.first()?);
        let retries = all.of(first.commitment, first.key);
        for slot in slots {
            retries.untried.remove(slot.key);
            let attempt = Attempt { generation: slot.generation, outcome: outcome.clone() };
            retries.tried.insert(slot.key.clone(), attempt);
        }
        match outcome {
            Outcome::Listed => retries.start_timer(first.key, first_pause, now),
            Outcome::Failed { due, .. } => Some(due.saturating_duration_since(now)),
        }
    }

    /// These slots cannot be tried together: each is tried when it is enqueued.
    pub(crate) fn remove_untried<'k>(&self, keys: impl IntoIterator<Item = &'k ObjectKey>) {
        let mut all = self.all.lock();
        for key in keys {
            if let Some(retries) = all.of_slot(key) {
                retries.untried.remove(key);
            }
        }
    }

    /// The slot has a host, is paused or is gone. Returns the slot that has the timer from now on, if that changes.
    pub(crate) fn forget(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.all.lock().forget(key)
    }

    /// When the slot is tried again by a timer: with the listed ones of its commitment, or by itself after a failure. `None`
    /// if it was not tried yet.
    pub(crate) fn next_try(&self, key: &ObjectKey) -> Option<Instant> {
        let all = self.all.lock();
        let retries = all.by_commitment.get(all.commitments.get(key)?)?;
        match &retries.tried.get(key)?.outcome {
            Outcome::Listed => retries.timer.as_ref().map(|timer| timer.due),
            Outcome::Failed { due, .. } => Some(*due),
        }
    }

    /// Something other than capacity has changed, such as a pipeline: all slots are due when they are enqueued.
    pub(crate) fn make_all_due(&self, now: Instant) {
        for retries in self.all.lock().by_commitment.values_mut() {
            retries.make_due(now);
        }
    }
}

impl AllRetries {
    fn of(&mut self, commitment: &str, key: &ObjectKey) -> &mut CommitmentRetries {
        if self.commitments.get(key).is_some_and(|known| known != commitment) {
            self.forget(key);
        }
        self.commitments.entry(key.clone()).or_insert_with(|| commitment.to_owned());
        self.by_commitment.entry(commitment.to_owned()).or_default()
    }

    fn of_slot(&mut self, key: &ObjectKey) -> Option<&mut CommitmentRetries> {
        self.by_commitment.get_mut(self.commitments.get(key)?)
    }

    fn forget(&mut self, key: &ObjectKey) -> Option<ObjectKey> {
        let commitment = self.commitments.remove(key)?;
        let retries = self.by_commitment.get_mut(&commitment)?;
        let next = retries.forget(key);
        if retries.tried.is_empty() && retries.untried.is_empty() {
            self.by_commitment.remove(&commitment);
        }
        next
    }
}

impl CommitmentRetries {
    fn is_due(&self, now: Instant) -> bool {
        self.timer.as_ref().is_none_or(|timer| timer.due <= now)
    }

    fn time_until_due(&self, key: &ObjectKey, now: Instant) -> Option<Duration> {
        let timer = self.timer.as_ref().filter(|timer| timer.slot == *key)?;
        Some(timer.due.saturating_duration_since(now))
    }

    /// The slots that are tried together with this one: those that were never tried and, when the timer is due, the listed
    /// ones.
    fn others(&self, key: &ObjectKey, now: Instant) -> Vec<ObjectKey> {
        let is_due = self.timer.is_some() && self.is_due(now);
        let listed = self.tried.iter().filter(|(_, attempt)| is_due && matches!(attempt.outcome, Outcome::Listed));
        let others = self.untried.iter().chain(listed.map(|(key, _)| key));
        others.filter(|other| *other != key).cloned().collect()
    }

    fn start_timer(&mut self, key: &ObjectKey, first_pause: Duration, now: Instant) -> Option<Duration> {
        let is_running = !self.is_due(now);
        if !is_running {
            let pause =
                self.timer.as_ref().map_or(first_pause, |timer| (timer.pause * 2).min(LONGEST_PAUSE).max(first_pause));
            self.timer = Some(Timer { slot: key.clone(), pause, due: now + pause });
        }
        self.time_until_due(key, now)
    }

    /// The last slot takes the timer over, because it is the last one that gets a host.
    fn forget(&mut self, key: &ObjectKey) -> Option<ObjectKey> {
        self.untried.remove(key);
        self.tried.remove(key);
        let timer = self.timer.as_mut().filter(|timer| timer.slot == *key)?;
        let listed = |(_, attempt): &(&ObjectKey, &Attempt)| matches!(attempt.outcome, Outcome::Listed);
        match self.tried.iter().rfind(listed) {
            Some((next, _)) => timer.slot = next.clone(),
            None => self.timer = None,
        }
        self.timer.as_ref().map(|timer| timer.slot.clone())
    }

    /// The pauses begin anew.
    fn make_due(&mut self, now: Instant) {
        let failed = self.tried.iter().filter(|(_, attempt)| matches!(attempt.outcome, Outcome::Failed { .. }));
        let failed: Vec<ObjectKey> = failed.map(|(key, _)| key.clone()).collect();
        for key in failed {
            self.tried.remove(&key);
            self.untried.insert(key);
        }
        if let Some(timer) = &mut self.timer {
            (timer.due, timer.pause) = (now, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;
    use berth_crds::conditions::Status;
    use berth_crds::conditions::reservation::Reason;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    fn key(number: usize) -> ObjectKey {
        ObjectKey::new(ClusterName::home(), format!("slot-{number}"))
    }

    fn slot(key: &ObjectKey) -> WaitingSlot<'_> {
        WaitingSlot { commitment: "one", key, generation: Some(1) }
    }

    fn wait(seconds: Option<u64>) -> Turn {
        Turn::Wait { failure: None, requeue_after: seconds.map(Duration::from_secs) }
    }

    /// Three slots that the scheduler has listed; the first one has the timer.
    fn listed(now: Instant) -> (Retries, [ObjectKey; 3]) {
        let (retries, keys) = (Retries::default(), [0, 1, 2].map(key));
        for key in &keys {
            retries.add_untried("one", key);
        }
        assert_eq!(retries.choose_turn(slot(&keys[0]), false, now), Turn::Try(keys[1..].to_vec()));
        let first = [&keys[0]].map(slot);
        assert_eq!(retries.record(&first, &Outcome::Listed, PAUSE, now), Some(PAUSE));
        assert_eq!(retries.record(&[1, 2].map(|n| slot(&keys[n])), &Outcome::Listed, PAUSE, now), None);
        (retries, keys)
    }

    #[tokio::test(start_paused = true)]
    async fn the_slots_of_a_commitment_are_tried_together_with_pauses_that_double() {
        let mut now = Instant::now();
        let (retries, keys) = listed(now);
        for pause in [30, 60, 120, 240, 480, 960, 1800, 1800] {
            assert_eq!(retries.choose_turn(slot(&keys[0]), true, now), wait(Some(pause)));
            assert_eq!(retries.choose_turn(slot(&keys[1]), true, now), wait(None), "it has no timer");
            let due = Some(now + Duration::from_secs(pause));
            assert_eq!(keys.each_ref().map(|key| retries.next_try(key)), [due; 3]);
            now += Duration::from_secs(pause);
            assert_eq!(retries.choose_turn(slot(&keys[0]), true, now), Turn::Try(keys[1..].to_vec()));
            retries.record(&keys.each_ref().map(slot), &Outcome::Listed, PAUSE, now);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_slot_and_one_with_a_host_are_tried_alone() {
        let now = Instant::now();
        let (retries, keys) = listed(now);
        assert_eq!(retries.choose_turn(slot(&keys[1]), false, now), Turn::Try(vec![]), "it is not listed any more");
        let changed = WaitingSlot { generation: Some(2), ..slot(&keys[2]) };
        assert_eq!(retries.choose_turn(changed, true, now), Turn::Try(vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_listed_slot_takes_over_the_timer() {
        let now = Instant::now();
        let (retries, keys) = listed(now);
        assert_eq!(retries.forget(&keys[1]), None);
        assert_eq!(retries.forget(&keys[0]), Some(keys[2].clone()));
        assert_eq!(retries.choose_turn(slot(&keys[2]), true, now), wait(Some(30)));
        assert_eq!(retries.forget(&keys[2]), None);
        let all = retries.all.lock();
        assert!(
            all.by_commitment.is_empty() && all.commitments.is_empty(),
            "nothing is stored for slots that are gone"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_that_failed_waits_by_itself_and_keeps_its_condition() {
        let (now, retries, key) = (Instant::now(), Retries::default(), key(0));
        let ready = SlotReady::new(Status::Unknown, Reason::SchedulerUnavailable, "why");
        let failed = Outcome::Failed { ready: ready.clone(), due: now + PAUSE };
        assert_eq!(retries.next_try(&key), None);
        assert_eq!(retries.record(&[slot(&key)], &failed, PAUSE, now), Some(PAUSE));
        assert_eq!(retries.next_try(&key), Some(now + PAUSE));
        let turn = retries.choose_turn(slot(&key), false, now + PAUSE / 3);
        assert_eq!(turn, Turn::Wait { failure: Some(ready), requeue_after: Some(Duration::from_secs(20)) });
        assert_eq!(retries.choose_turn(slot(&key), false, now + PAUSE), Turn::Try(vec![]));
        retries.record(&[slot(&key)], &failed, PAUSE, now);
        retries.make_all_due(now);
        assert_eq!(retries.choose_turn(slot(&key), false, now), Turn::Try(vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_are_due_the_pauses_begin_anew() {
        let now = Instant::now();
        let (retries, keys) = listed(now);
        let later = now + PAUSE;
        retries.record(&[slot(&keys[0])], &Outcome::Listed, PAUSE, later);
        assert_eq!(retries.choose_turn(slot(&keys[0]), true, later), wait(Some(60)));
        retries.make_all_due(later);
        assert_eq!(retries.choose_turn(slot(&keys[1]), true, later), Turn::Try(vec![keys[0].clone(), keys[2].clone()]));
        assert_eq!(retries.record(&[slot(&keys[1])], &Outcome::Listed, PAUSE, later), Some(PAUSE));
        assert_eq!(retries.choose_turn(slot(&keys[0]), true, later), wait(None), "another slot has the timer");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_that_changes_its_commitment_leaves_the_former_one() {
        let now = Instant::now();
        let (retries, keys) = listed(now);
        let moved = WaitingSlot { commitment: "two", ..slot(&keys[0]) };
        assert_eq!(retries.choose_turn(moved, false, now), Turn::Try(vec![]));
        assert_eq!(retries.choose_turn(slot(&keys[2]), true, now), wait(Some(30)));
    }
}
