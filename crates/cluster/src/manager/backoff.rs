//! The back-off after a failed reconciliation. It is counted per key and reset by a reconciliation that succeeds. Events do not
//! cut it short, or a busy object that fails would be reconciled as often as it changes.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Key;
use crate::Class;

/// The pauses between failed reconciliations, by class of failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// First pause after a failure of class [`Class::Soon`]; it doubles up to `soon_longest`.
    pub soon: Duration,
    /// Longest pause for [`Class::Soon`].
    pub soon_longest: Duration,
    /// First pause after a failure of class [`Class::Later`]; it doubles up to `later_longest`.
    pub later: Duration,
    /// Longest pause for [`Class::Later`].
    pub later_longest: Duration,
    /// Pause after a failure of class [`Class::User`]. An event, which may be the cure, is answered earlier, but not
    /// before `user_shortest`.
    pub user: Duration,
    /// Shortest pause for [`Class::User`].
    pub user_shortest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            soon: Duration::from_millis(200),
            soon_longest: Duration::from_secs(10),
            later: Duration::from_millis(500),
            later_longest: Duration::from_secs(60),
            user: Duration::from_secs(900),
            user_shortest: Duration::from_secs(5),
        }
    }
}

impl Retry {
    /// When the key is requeued without an event, and until when events do not help.
    fn pauses(&self, class: Class, attempt: u32) -> (Duration, Duration) {
        let doubled = |first: Duration, longest: Duration| {
            let pause = longest.min(first.saturating_mul(1 << attempt.min(16)));
            (pause, pause)
        };
        match class {
            Class::Soon => doubled(self.soon, self.soon_longest),
            Class::Later => doubled(self.later, self.later_longest),
            Class::User => (self.user, self.user_shortest.min(self.user)),
        }
    }
}

pub(super) struct Backoff<K> {
    retry: Retry,
    failures: Mutex<BTreeMap<K, Failures>>,
}

/// The failures of one key since its last success.
struct Failures {
    count: u32,
    class: Class,
    /// How many in a row had this class.
    attempt: u32,
    not_before: Instant,
    text: String,
    /// It was logged.
    is_logged: bool,
}

/// What the failures of a key were when they ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cleared {
    /// How many reconciliations had failed.
    pub count: u32,
    /// Whether one of them was logged.
    pub was_logged: bool,
}

/// What a failure leads to.
pub(super) struct Failed {
    /// When the key is requeued.
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

    pub fn failed(&self, key: &K, class: Class, text: &str) -> Failed {
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

    /// The last failure was logged.
    pub fn mark_logged(&self, key: &K) {
        if let Some(failures) = self.failures.lock().get_mut(key) {
            failures.is_logged = true;
        }
    }

    /// The reconciliation has succeeded.
    pub fn reset(&self, key: &K) -> Cleared {
        let failures = self.failures.lock().remove(key);
        let cleared = |failures: Failures| Cleared { count: failures.count, was_logged: failures.is_logged };
        failures.map(cleared).unwrap_or_default()
    }

    /// How many keys have failed last.
    pub fn len(&self) -> usize {
        self.failures.lock().len()
    }
}
