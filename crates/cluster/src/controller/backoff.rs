//! How long an object rests after a failed look. Counted per object and reset by a look that succeeds. Events do not cut
//! a rest short, or a busy object that fails would be looked at as often as it changes.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use tokio::time::Instant;

use crate::{Class, ObjectKey, lock::lock};

/// The pauses between failed looks, by class of failure.
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
    /// When to look again without an event, and until when events do not help.
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

pub(super) struct Backoff {
    retry: Retry,
    failures: Mutex<BTreeMap<ObjectKey, Failures>>,
}

/// The failures of one object since its last success.
struct Failures {
    count: u32,
    class: Class,
    /// How many in a row had this class.
    attempt: u32,
    rests_until: Instant,
    text: String,
    /// Somebody has read of it in the log.
    told: bool,
}

/// What the failures of an object were when they ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cleared {
    /// How many looks had failed.
    pub count: u32,
    /// Whether one of them was told.
    pub told: bool,
}

/// What a failure leads to.
pub(super) struct Failed {
    /// When to look again.
    pub pause: Duration,
    /// True if the object has just failed with the same text.
    pub repeated: bool,
    /// How many looks have failed in a row.
    pub count: u32,
}

impl Backoff {
    pub fn new(retry: Retry) -> Self {
        Self { retry, failures: Mutex::default() }
    }

    /// How long the object still has to rest.
    pub fn rest(&self, key: &ObjectKey) -> Option<Duration> {
        let until = lock(&self.failures).get(key)?.rests_until;
        Some(until.saturating_duration_since(Instant::now())).filter(|rest| !rest.is_zero())
    }

    pub fn failed(&self, key: &ObjectKey, class: Class, text: &str) -> Failed {
        let mut all = lock(&self.failures);
        let before = all.get(key);
        // Somebody has to have read a text before it can be called a repetition.
        let told = before.is_some_and(|before| before.told);
        let repeated = told && before.is_some_and(|before| before.text == text);
        let count = before.map_or(1, |before| before.count.saturating_add(1));
        let attempt =
            before.filter(|before| before.class == class).map_or(0, |before| before.attempt.saturating_add(1));
        let (pause, rest) = self.retry.pauses(class, attempt);
        let rests_until = Instant::now() + rest;
        all.insert(key.clone(), Failures { count, class, attempt, rests_until, text: text.to_owned(), told });
        Failed { pause, repeated, count }
    }

    /// The last failure was told.
    pub fn tell(&self, key: &ObjectKey) {
        if let Some(failures) = lock(&self.failures).get_mut(key) {
            failures.told = true;
        }
    }

    /// The look succeeded, or the object is gone.
    pub fn clear(&self, key: &ObjectKey) -> Cleared {
        let failures = lock(&self.failures).remove(key);
        failures.map(|failures| Cleared { count: failures.count, told: failures.told }).unwrap_or_default()
    }

    /// How many objects have failed last.
    pub fn len(&self) -> usize {
        lock(&self.failures).len()
    }
}
