//! The back-off after a failed reconciliation. It is counted per key and reset by a reconciliation that succeeds. Events do not
//! cut it short, or a busy object that fails would be reconciled as often as it changes.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::key::Key;
use crate::ErrorClass;

/// The pauses between failed reconciliations, by class of failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// First pause after a failure of class [`ErrorClass::Conflict`]; it doubles up to `conflict_longest`.
    pub conflict: Duration,
    pub conflict_longest: Duration,
    /// First pause after a failure of class [`ErrorClass::Transient`]; it doubles up to `transient_longest`.
    pub transient: Duration,
    pub transient_longest: Duration,
    /// Pause after a failure of class [`ErrorClass::Permanent`]. An event, which may be the cure, is answered earlier, but not
    /// before `permanent_shortest`.
    pub permanent: Duration,
    pub permanent_shortest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            conflict: Duration::from_millis(200),
            conflict_longest: Duration::from_secs(10),
            transient: Duration::from_millis(500),
            transient_longest: Duration::from_secs(60),
            permanent: Duration::from_secs(900),
            permanent_shortest: Duration::from_secs(5),
        }
    }
}

impl Retry {
    /// When the key is requeued without an event, and until when events do not help.
    fn pauses(&self, class: ErrorClass, attempt: u32) -> (Duration, Duration) {
        let doubled = |first: Duration, longest: Duration| {
            let pause = longest.min(first.saturating_mul(1 << attempt.min(16)));
            (pause, pause)
        };
        match class {
            ErrorClass::Conflict => doubled(self.conflict, self.conflict_longest),
            ErrorClass::Transient => doubled(self.transient, self.transient_longest),
            ErrorClass::Permanent => (self.permanent, self.permanent_shortest.min(self.permanent)),
        }
    }
}

/// The reconciliations of a key that have failed since the last success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFailures {
    pub count: u32,
    /// The class of the last one, and its error with all causes.
    pub class: ErrorClass,
    pub error: String,
}

pub(super) struct Backoff<K> {
    retry: Retry,
    failures: Mutex<BTreeMap<K, Failures>>,
}

/// The failures of one key since its last success.
struct Failures {
    count: u32,
    class: ErrorClass,
    /// How many in a row had this class.
    attempt: u32,
    not_before: Instant,
    text: String,
    is_logged: bool,
}

/// The failures of a key at the time of its first success.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cleared {
    pub count: u32,
    pub was_logged: bool,
}

/// The consequences of a failure.
pub(super) struct Failed {
    pub pause: Duration,
    /// True if it has just failed with the same text, which was logged.
    pub is_repeated: bool,
    /// How many reconciliations have failed in a row.
    pub count: u32,
}

impl<K: Key> Backoff<K> {
    pub fn new(retry: Retry) -> Self {
        Self { retry, failures: Mutex::default() }
    }

    /// How long the key is not to be reconciled yet.
    pub fn remaining(&self, key: &K) -> Option<Duration> {
        let not_before = self.failures.lock().get(key)?.not_before;
        Some(not_before.saturating_duration_since(Instant::now())).filter(|remaining| !remaining.is_zero())
    }

    pub fn failed(&self, key: &K, class: ErrorClass, text: &str) -> Failed {
        let mut all = self.failures.lock();
        let before = all.get(key);
        // A text must have been logged before it can be called a repetition.
        let is_logged = before.is_some_and(|before| before.is_logged);
        let is_repeated = is_logged && before.is_some_and(|before| before.text == text);
        let count = before.map_or(1, |before| before.count.saturating_add(1));
        let attempt =
            before.filter(|before| before.class == class).map_or(0, |before| before.attempt.saturating_add(1));
        let (pause, least) = self.retry.pauses(class, attempt);
        let not_before = Instant::now() + least;
        all.insert(key.clone(), Failures { count, class, attempt, not_before, text: text.to_owned(), is_logged });
        Failed { pause, is_repeated, count }
    }

    pub fn mark_logged(&self, key: &K) {
        if let Some(failures) = self.failures.lock().get_mut(key) {
            failures.is_logged = true;
        }
    }

    pub fn reset(&self, key: &K) -> Cleared {
        let failures = self.failures.lock().remove(key);
        let cleared = |failures: Failures| Cleared { count: failures.count, was_logged: failures.is_logged };
        failures.map(cleared).unwrap_or_default()
    }

    /// The failures of a key since its last success.
    pub fn failures(&self, key: &K) -> Option<KeyFailures> {
        let all = self.failures.lock();
        let failures = all.get(key)?;
        Some(KeyFailures { count: failures.count, class: failures.class, error: failures.text.clone() })
    }

    pub fn len(&self) -> usize {
        self.failures.lock().len()
    }
}
