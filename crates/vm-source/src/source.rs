//! The source: the newest snapshot, and who is told about a new one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use berth_telemetry::clock::Clock;
use jiff::SignedDuration;
use parking_lot::{Mutex, RwLock};
use thiserror::Error;

use crate::snapshot::VmSnapshot;

/// Why there is no snapshot that may be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unavailable {
    /// The text is the one that LIQUID clients get.
    #[error("vm source not configured")]
    NotConfigured,
    /// Nothing was read yet; the text says why.
    #[error("failed to list VMs from source: {0}")]
    NotRead(String),
    /// Seconds since the data was current, and the last failure.
    #[error("failed to list VMs from source: the data is {age} s old: {why}")]
    Outdated { age: i64, why: String },
}

/// A snapshot and the one before it.
#[derive(Clone, Debug)]
pub struct SnapshotChange {
    /// Empty for the first snapshot.
    pub former: Arc<VmSnapshot>,
    pub present: Arc<VmSnapshot>,
}

type Listener = Box<dyn Fn(&SnapshotChange) + Send + Sync>;

struct Shared {
    clock: Arc<dyn Clock>,
    /// `vmSourceMaxAge`.
    max_age: Duration,
    state: RwLock<State>,
    listeners: Mutex<Vec<Listener>>,
}

struct State {
    is_configured: bool,
    snapshot: Option<Arc<VmSnapshot>>,
    /// The last failure, until a read succeeds.
    failure: Option<String>,
}

impl Shared {
    fn age(&self, snapshot: &VmSnapshot) -> SignedDuration {
        self.clock.now().duration_since(snapshot.as_of)
    }
}

/// All VMs of the cloud, for everything in the process that asks for them. Nobody who reads it waits for a database.
#[derive(Clone, Default)]
pub struct VmSource {
    /// `None`: no database is configured.
    shared: Option<Arc<Shared>>,
}

impl fmt::Debug for VmSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VmSource").field("configured", &self.is_configured()).finish_non_exhaustive()
    }
}

impl VmSource {
    /// A source that something will publish snapshots to.
    pub fn new(clock: Arc<dyn Clock>, max_age: Duration) -> Self {
        let state = RwLock::new(State { is_configured: true, snapshot: None, failure: None });
        let shared = Shared { clock, max_age, state, listeners: Mutex::default() };
        Self { shared: Some(Arc::new(shared)) }
    }

    /// No database is configured.
    pub fn none() -> Self {
        Self::default()
    }

    pub fn is_configured(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.state.read().is_configured)
    }

    /// Whether there is something that reads VMs, or will when an object names a database.
    pub fn may_be_configured(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether there is a database at all: an object that names one may come later.
    pub fn set_configured(&self, is_configured: bool) {
        if let Some(shared) = &self.shared {
            shared.state.write().is_configured = is_configured;
        }
    }

    /// The newest snapshot, if it is new enough to change anything by it.
    pub fn snapshot(&self) -> Result<Arc<VmSnapshot>, Unavailable> {
        let shared = self.shared.as_ref().ok_or(Unavailable::NotConfigured)?;
        let state = shared.state.read();
        if !state.is_configured {
            return Err(Unavailable::NotConfigured);
        }
        let why = |otherwise: &str| state.failure.clone().unwrap_or_else(|| otherwise.to_owned());
        let snapshot = state.snapshot.clone().ok_or_else(|| Unavailable::NotRead(why("no read has ended yet")))?;
        let age = shared.age(&snapshot);
        let limit = SignedDuration::try_from(shared.max_age).unwrap_or(SignedDuration::MAX);
        if age > limit {
            return Err(Unavailable::Outdated { age: age.as_secs(), why: why("the tables were last copied then") });
        }
        Ok(snapshot)
    }

    /// The newest snapshot, however old.
    pub fn last_snapshot(&self) -> Option<Arc<VmSnapshot>> {
        self.shared.as_ref()?.state.read().snapshot.clone()
    }

    /// How old the newest snapshot is, if there is one.
    pub fn age(&self) -> Option<SignedDuration> {
        let snapshot = self.last_snapshot()?;
        self.shared.as_ref().map(|shared| shared.age(&snapshot))
    }

    /// Calls the listener after each change of the snapshot, in the order of the changes. It must not block.
    pub fn on_change(&self, listener: impl Fn(&SnapshotChange) + Send + Sync + 'static) {
        if let Some(shared) = &self.shared {
            shared.listeners.lock().push(Box::new(listener));
        }
    }

    /// Replaces the snapshot.
    pub fn publish(&self, snapshot: VmSnapshot) {
        let Some(shared) = &self.shared else { return };
        // Held while the snapshot is replaced, so that the listeners see the changes in their order.
        let listeners = shared.listeners.lock();
        let present = Arc::new(snapshot);
        let former = {
            let mut state = shared.state.write();
            state.failure = None;
            state.snapshot.replace(Arc::clone(&present)).unwrap_or_default()
        };
        let change = SnapshotChange { former, present };
        listeners.iter().for_each(|listener| listener(&change));
    }

    /// Remembers why the last read failed. The former snapshot stays.
    pub fn report_failure(&self, why: impl Into<String>) {
        if let Some(shared) = &self.shared {
            shared.state.write().failure = Some(why.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use berth_telemetry::clock::TokioClock;
    use jiff::Timestamp;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn snapshot(as_of: i64) -> VmSnapshot {
        VmSnapshot::new(Vec::new(), Vec::new(), Timestamp::from_second(as_of).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_snapshot_is_used_until_it_is_too_old() {
        let source = VmSource::new(Arc::new(TokioClock::new(Timestamp::UNIX_EPOCH)), HOUR);
        assert_eq!(source.snapshot(), Err(Unavailable::NotRead("no read has ended yet".into())));
        source.publish(snapshot(0));
        tokio::time::advance(HOUR).await;
        assert!(source.snapshot().is_ok());
        source.report_failure("no route to host");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(source.snapshot(), Err(Unavailable::Outdated { age: 3601, why: "no route to host".into() }));
        assert!(source.last_snapshot().is_some(), "what was read stays");
        source.publish(snapshot(3600));
        assert!(source.snapshot().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn listeners_get_the_former_and_the_present_snapshot() {
        let source = VmSource::new(Arc::new(TokioClock::new(Timestamp::UNIX_EPOCH)), HOUR);
        let seen = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&seen);
        source.on_change(move |change| {
            assert!(change.present.as_of >= change.former.as_of);
            count.fetch_add(1, Ordering::Relaxed);
        });
        source.publish(snapshot(1));
        source.publish(snapshot(2));
        assert_eq!(seen.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_may_be_configured_later() {
        let source = VmSource::new(Arc::new(TokioClock::new(Timestamp::UNIX_EPOCH)), HOUR);
        source.set_configured(false);
        assert_eq!((source.is_configured(), source.may_be_configured(), source.age()), (false, true, None));
        assert_eq!(source.snapshot(), Err(Unavailable::NotConfigured));
        source.set_configured(true);
        source.publish(snapshot(-5));
        assert_eq!(source.age(), Some(SignedDuration::from_secs(5)));
        assert!(source.snapshot().is_ok());
    }

    #[test]
    fn without_a_database_there_is_no_snapshot() {
        let source = VmSource::none();
        source.publish(snapshot(1));
        assert_eq!(source.snapshot(), Err(Unavailable::NotConfigured));
    }
}
