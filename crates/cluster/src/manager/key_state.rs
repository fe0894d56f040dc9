//! What a controller does with a key at the moment, for users: no decision depends on it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::backoff::{Backoff, KeyFailures};
use super::key::Key;

/// Whether a key is reconciled, waits for that, or rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Running,
    Queued,
    /// It is reconciled when it is requested, and without that at this time, if any.
    Idle(Option<Instant>),
}

/// The state of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    pub activity: Activity,
    pub failures: Option<KeyFailures>,
}

/// The keys that are in the hands of a controller, or are requeued. Its locks are taken alone.
pub(super) struct KeyStates<K> {
    stages: Mutex<BTreeMap<K, Stage>>,
    backoff: OnceLock<Arc<Backoff<K>>>,
}

enum Stage {
    /// No longer among the requests, and not reconciled yet.
    Taken,
    Running,
    Requeued(Instant),
}

impl<K> Default for KeyStates<K> {
    fn default() -> Self {
        Self { stages: Mutex::default(), backoff: OnceLock::new() }
    }
}

impl<K: Key> KeyStates<K> {
    /// Where the failures are counted; the first one counts.
    pub fn count_failures_in(&self, backoff: Arc<Backoff<K>>) {
        _ = self.backoff.set(backoff);
    }

    /// A key that is requested again while it is reconciled stays running.
    pub fn take(&self, key: &K) {
        let mut stages = self.stages.lock();
        if !matches!(stages.get(key), Some(Stage::Running)) {
            stages.insert(key.clone(), Stage::Taken);
        }
    }

    pub fn begin(&self, key: &K) {
        self.stages.lock().insert(key.clone(), Stage::Running);
    }

    pub fn end(&self, key: &K, requeue_after: Option<Duration>) {
        let mut stages = self.stages.lock();
        match requeue_after {
            None => stages.remove(key),
            Some(delay) => stages.insert(key.clone(), Stage::Requeued(Instant::now() + delay)),
        };
    }

    pub fn state(&self, key: &K, is_requested: bool) -> KeyState {
        let activity = match self.stages.lock().get(key) {
            Some(Stage::Running) => Activity::Running,
            Some(Stage::Taken) => Activity::Queued,
            _ if is_requested => Activity::Queued,
            Some(Stage::Requeued(due)) if *due <= Instant::now() => Activity::Queued,
            Some(Stage::Requeued(due)) => Activity::Idle(Some(*due)),
            None => Activity::Idle(None),
        };
        KeyState { activity, failures: self.backoff.get().and_then(|backoff| backoff.failures(key)) }
    }
}
