//! Verdicts that count for a moment, so many at most.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::verdict::AccessVerdict;

/// A right that is revoked, or a token that is, ends after this.
const KEPT: Duration = Duration::from_secs(10);
/// Verdicts, each with its token and path.
const MOST: usize = 256;

/// The last verdicts by token and path.
#[derive(Default)]
pub(super) struct VerdictCache {
    verdicts: BTreeMap<(String, String), KeptVerdict>,
}

struct KeptVerdict {
    verdict: AccessVerdict,
    ends: Instant,
}

impl VerdictCache {
    pub(super) fn get(&self, token: &str, path: &str, now: Instant) -> Option<AccessVerdict> {
        let kept = self.verdicts.get(&(token.to_owned(), path.to_owned()))?;
        (now < kept.ends).then(|| kept.verdict.clone())
    }

    /// Keeps a verdict. An unknown one is not kept: the API server may answer the next time.
    pub(super) fn insert(&mut self, token: &str, path: &str, verdict: &AccessVerdict, now: Instant) {
        if matches!(verdict, AccessVerdict::Unknown(_)) {
            return;
        }
        self.make_space(now);
        let kept = KeptVerdict { verdict: verdict.clone(), ends: now + KEPT };
        self.verdicts.insert((token.to_owned(), path.to_owned()), kept);
    }

    /// Removes what does not count any more, and if that is nothing, a refusal before a permission, the oldest first: callers
    /// with tokens that nobody knows must not displace those with good ones.
    fn make_space(&mut self, now: Instant) {
        if self.verdicts.len() < MOST {
            return;
        }
        self.verdicts.retain(|_, kept| now < kept.ends);
        if self.verdicts.len() < MOST {
            return;
        }
        let rank = |kept: &KeptVerdict| (kept.verdict == AccessVerdict::Allowed, kept.ends);
        let first = self.verdicts.iter().min_by_key(|(_, kept)| rank(kept)).map(|(key, _)| key.clone());
        if let Some(key) = first {
            self.verdicts.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/metrics";

    #[test]
    fn a_verdict_counts_for_its_token_and_path_and_for_ten_seconds() {
        let (mut cache, now) = (VerdictCache::default(), Instant::now());
        cache.insert("good", PATH, &AccessVerdict::Allowed, now);
        cache.insert("bad", PATH, &AccessVerdict::Unauthenticated, now);
        let almost = now + KEPT.saturating_sub(Duration::from_millis(1));
        assert_eq!(cache.get("good", PATH, almost), Some(AccessVerdict::Allowed));
        assert_eq!(cache.get("bad", PATH, almost), Some(AccessVerdict::Unauthenticated));
        assert_eq!(cache.get("good", "/check", now), None);
        assert_eq!(cache.get("goo", "d/metrics", now), None);
        assert_eq!((cache.get("good", PATH, now + KEPT), cache.get("bad", PATH, now + KEPT)), (None, None));
    }

    #[test]
    fn an_unknown_verdict_is_not_kept() {
        let (mut cache, now) = (VerdictCache::default(), Instant::now());
        cache.insert("t", PATH, &AccessVerdict::Unknown("no answer".to_owned()), now);
        assert_eq!(cache.get("t", PATH, now), None);
    }

    #[test]
    fn unknown_tokens_take_a_bounded_place_and_displace_no_permission() {
        let (mut cache, now) = (VerdictCache::default(), Instant::now());
        cache.insert("good", PATH, &AccessVerdict::Allowed, now);
        for number in 0..10 * MOST {
            cache.insert(&format!("guess-{number}"), PATH, &AccessVerdict::Unauthenticated, now);
        }
        assert_eq!(cache.verdicts.len(), MOST);
        assert_eq!(cache.get("good", PATH, now), Some(AccessVerdict::Allowed));
        let later = now + KEPT;
        cache.insert("other", PATH, &AccessVerdict::Forbidden, later);
        assert_eq!(cache.verdicts.len(), 1, "what does not count any more goes first");
    }
}
