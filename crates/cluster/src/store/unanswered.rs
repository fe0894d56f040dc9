//! Writes without an answer. The API server may execute one after a read has shown that it had not: etcd was slow, or the
//! request still waited. Only the answer to the same write, sent again, ends the doubt: one of the two takes effect.

use std::time::Duration;

use kube::core::ObjectMeta;
use serde_json::Value;
use tokio::time::Instant;

/// The API server executes no write later than this after we stopped waiting for its answer. By default it ends requests after
/// 60 s itself.
const LATEST_EFFECT: Duration = Duration::from_secs(120);

/// A write that takes effect once at most, however often it is sent.
pub(crate) enum RepeatableWrite<K> {
    Create(K),
    /// A patch of the object in the version that was seen.
    Patch {
        seen: Box<ObjectMeta>,
        patch: Value,
    },
}

pub(crate) struct UnansweredWrite<K> {
    pub write: RepeatableWrite<K>,
    until: Instant,
}

impl<K> UnansweredWrite<K> {
    pub fn new(write: RepeatableWrite<K>, given_up_at: Instant) -> Self {
        Self { write, until: given_up_at + LATEST_EFFECT }
    }

    /// Whether the write can no longer take effect, given a read that began at `read_at` and found this version or no object.
    pub fn is_over(&self, read_at: Instant, found: Option<u64>) -> bool {
        let excluded = match &self.write {
            RepeatableWrite::Create(_) => found.is_some(),
            RepeatableWrite::Patch { seen, .. } => {
                let version = seen.resource_version.as_deref().and_then(|version| version.parse().ok());
                found.is_none_or(|found| Some(found) != version)
            }
        };
        excluded || read_at >= self.until
    }
}
