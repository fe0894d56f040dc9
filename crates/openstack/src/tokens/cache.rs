//! What is known about tokens, as a value: what to do with a token at a time, and what an answer of Keystone changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::answer::ValidToken;
use crate::authentication::Caller;

/// A token in the cache, which does not have tokens themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheLimits {
    /// Valid tokens, and as many that are not valid.
    pub(super) tokens: usize,
    /// How long an answer counts.
    pub(super) valid: Duration,
    pub(super) unknown: Duration,
    /// How long it counts for requests that change nothing while there is no newer one.
    pub(super) outdated: Duration,
}

/// What the cache says about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Valid(Arc<Caller>),
    /// Keystone does not know it.
    Unknown,
    /// It must be validated; with the caller that it belonged to not long ago.
    Unsure(Option<Arc<Caller>>),
}

/// An answer of Keystone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Valid(ValidToken),
    Unknown,
}

pub(super) struct TokenCache {
    limits: CacheLimits,
    valid: Recent<ValidEntry>,
    /// Separate, so that callers that make tokens up do not displace the valid ones.
    unknown: Recent<Instant>,
}

struct ValidEntry {
    caller: Arc<Caller>,
    until: Instant,
    outdated_until: Instant,
}

impl TokenCache {
    pub(super) fn new(limits: CacheLimits) -> Self {
        Self { limits, valid: Recent::new(limits.tokens), unknown: Recent::new(limits.tokens) }
    }

    pub(super) fn find(&mut self, token: TokenDigest, now: Instant) -> Known {
        if self.unknown.find(token).is_some_and(|until| now < *until) {
            return Known::Unknown;
        }
        match self.valid.find(token) {
            Some(entry) if now < entry.until => Known::Valid(entry.caller.clone()),
            Some(entry) if now < entry.outdated_until => Known::Unsure(Some(entry.caller.clone())),
            _ => Known::Unsure(None),
        }
    }

    /// Keeps an answer. `time` is the time of day, which the end of a token is.
    pub(super) fn note(&mut self, token: TokenDigest, verdict: &Verdict, now: Instant, time: Timestamp) {
        match verdict {
            Verdict::Unknown => {
                self.valid.remove(token);
                self.unknown.put(token, after(now, self.limits.unknown));
            }
            Verdict::Valid(valid) => {
                self.unknown.remove(token);
                let left = Duration::try_from(valid.expires_at.duration_since(time)).unwrap_or_default();
                let entry = ValidEntry {
                    caller: Arc::new(valid.caller.clone()),
                    until: after(now, left.min(self.limits.valid)),
                    outdated_until: after(now, left.min(self.limits.outdated)),
                };
                self.valid.put(token, entry);
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> (usize, usize) {
        (self.valid.entries.len(), self.unknown.entries.len())
    }
}

fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration).unwrap_or(now)
}

/// At most so many entries; the one that was not used for longest makes way.
struct Recent<V> {
    most: usize,
    entries: HashMap<TokenDigest, (u64, V)>,
    /// By last use, numbered.
    uses: BTreeMap<u64, TokenDigest>,
    next: u64,
}

impl<V> Recent<V> {
    fn new(most: usize) -> Self {
        Self { most, entries: HashMap::new(), uses: BTreeMap::new(), next: 0 }
    }

    fn find(&mut self, token: TokenDigest) -> Option<&V> {
        let (used, value) = self.entries.get_mut(&token)?;
        self.uses.remove(used);
        *used = self.next;
        self.uses.insert(self.next, token);
        self.next += 1;
        Some(value)
    }

    fn put(&mut self, token: TokenDigest, value: V) {
        self.remove(token);
        while self.entries.len() >= self.most
            && let Some((_, oldest)) = self.uses.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.uses.insert(self.next, token);
        self.entries.insert(token, (self.next, value));
        self.next += 1;
    }

    fn remove(&mut self, token: TokenDigest) {
        if let Some((used, _)) = self.entries.remove(&token) {
            self.uses.remove(&used);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: CacheLimits = CacheLimits {
        tokens: 3,
        valid: Duration::from_secs(300),
        unknown: Duration::from_secs(10),
        outdated: Duration::from_secs(3600),
    };

    /// A cache, the time at its beginning, and functions of seconds since then.
    struct Setting {
        cache: TokenCache,
        begin: Instant,
    }

    fn caller(user: &str) -> Arc<Caller> {
        Arc::new(Caller { user: user.to_owned(), ..Caller::default() })
    }

    fn wall(second: u64) -> Timestamp {
        "2026-03-01T10:00:00Z".parse::<Timestamp>().unwrap() + Duration::from_secs(second)
    }

    impl Setting {
        fn new() -> Self {
            Self { cache: TokenCache::new(LIMITS), begin: Instant::now() }
        }

        fn at(&self, second: u64) -> Instant {
            self.begin + Duration::from_secs(second)
        }

        fn validated(&mut self, token: &str, second: u64, expires: u64) {
            let valid = ValidToken { caller: (*caller(token)).clone(), expires_at: wall(expires) };
            self.note(token, &Verdict::Valid(valid), second);
        }

        fn note(&mut self, token: &str, verdict: &Verdict, second: u64) {
            let now = self.at(second);
            self.cache.note(TokenDigest::of(token), verdict, now, wall(second));
        }

        fn find(&mut self, token: &str, second: u64) -> Known {
            let now = self.at(second);
            self.cache.find(TokenDigest::of(token), now)
        }
    }

    #[test]
    fn a_valid_token_is_kept_for_its_time_and_remembered_for_an_hour() {
        let mut setting = Setting::new();
        assert_eq!(setting.find("a", 0), Known::Unsure(None));
        setting.validated("a", 0, 100_000);
        assert_eq!(setting.find("a", 299), Known::Valid(caller("a")));
        assert_eq!(setting.find("a", 300), Known::Unsure(Some(caller("a"))));
        assert_eq!(setting.find("a", 3599), Known::Unsure(Some(caller("a"))));
        assert_eq!(setting.find("a", 3600), Known::Unsure(None));
        setting.validated("a", 3600, 100_000);
        assert_eq!(setting.find("a", 3899), Known::Valid(caller("a")), "validated again");
    }

    #[test]
    fn a_token_never_counts_beyond_its_own_end() {
        let mut setting = Setting::new();
        setting.validated("soon", 0, 100);
        assert_eq!(setting.find("soon", 99), Known::Valid(caller("soon")));
        assert_eq!(setting.find("soon", 100), Known::Unsure(None));
        setting.validated("later", 0, 1000);
        assert_eq!(setting.find("later", 999), Known::Unsure(Some(caller("later"))));
        assert_eq!(setting.find("later", 1000), Known::Unsure(None));
        setting.validated("over", 10, 5);
        assert_eq!(setting.find("over", 10), Known::Unsure(None));
    }

    #[test]
    fn an_unknown_token_is_remembered_shortly_and_a_revoked_one_is_forgotten() {
        let mut setting = Setting::new();
        setting.validated("a", 0, 100_000);
        setting.note("a", &Verdict::Unknown, 301);
        assert_eq!((setting.find("a", 301), setting.find("a", 310)), (Known::Unknown, Known::Unknown));
        assert_eq!(setting.find("a", 311), Known::Unsure(None));
        setting.note("b", &Verdict::Unknown, 400);
        setting.validated("b", 401, 100_000);
        assert_eq!(setting.find("b", 402), Known::Valid(caller("b")), "the newer answer counts");
    }

    #[test]
    fn the_token_that_was_not_used_for_longest_makes_way_and_unknown_ones_displace_no_valid_one() {
        let mut setting = Setting::new();
        for token in ["a", "b", "c"] {
            setting.validated(token, 0, 100_000);
        }
        setting.find("a", 1);
        setting.validated("d", 2, 100_000);
        for number in 0..100 {
            setting.note(&format!("x{number}"), &Verdict::Unknown, 3);
        }
        assert_eq!(setting.find("b", 4), Known::Unsure(None));
        for token in ["a", "c", "d"] {
            assert_eq!(setting.find(token, 4), Known::Valid(caller(token)));
        }
        assert_eq!(setting.cache.len(), (3, 3));
    }

    proptest! {
        /// Compared with a list of all answers that were ever given.
        #[test]
        fn no_history_makes_a_token_count_longer_than_it_may(
            history in proptest::collection::vec((0..6_u8, 0..4_u8, 0..400_u64, 0..5000_u64), 0..60),
        ) {
            let (mut setting, mut second, mut answers) = (Setting::new(), 0, BTreeMap::new());
            for (token, action, passes, lasts) in history {
                second += passes;
                let token = format!("t{token}");
                match action {
                    0 => {
                        setting.note(&token, &Verdict::Unknown, second);
                        answers.insert(token, (second, None));
                    }
                    1 => {
                        setting.validated(&token, second, second + lasts);
                        answers.insert(token, (second, Some(lasts)));
                    }
                    _ => {
                        let age = answers.get(&token).map(|(at, lasts)| (second - at, *lasts));
                        let may = match setting.find(&token, second) {
                            Known::Valid(_) => matches!(age, Some((age, Some(lasts))) if age < 300 && age < lasts),
                            Known::Unknown => matches!(age, Some((age, None)) if age < 10),
                            Known::Unsure(Some(_)) => {
                                matches!(age, Some((age, Some(lasts))) if age < 3600 && age < lasts)
                            }
                            Known::Unsure(None) => true,
                        };
                        prop_assert!(may, "{age:?}");
                    }
                }
                let (valid, unknown) = setting.cache.len();
                prop_assert!(valid <= 3 && unknown <= 3);
            }
        }
    }
}
