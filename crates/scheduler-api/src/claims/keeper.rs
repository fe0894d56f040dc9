//! Writes the claims in batches: an answer waits for the batch with its claim, but never for long.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{ErrorClass, Right, State, Verb, WriteError, chain};
use berth_scheduler::{Booking, BuiltIn};
use berth_telemetry::clock::Clock;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::object::{self, Clocks};
use super::{ClaimMap, ClaimMetrics, NAME};

const KEY: &str = "claims";
/// Bytes of the claims: below the 1 MiB that the API server takes in a `ConfigMap`.
const MOST: usize = 1_000_000;
/// An answer waits for its claim at most this long.
const WAIT: Duration = Duration::from_millis(150);
/// From the beginning of one write to that of the next.
const INTERVAL: Duration = Duration::from_millis(100);
/// After `stop`: how long requests may still be decided, and how long their claims may take to be written.
const LINGER: Duration = Duration::from_millis(300);
const LAST_WORK: Duration = Duration::from_secs(2);
/// After a call that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// The dependencies for keeping claims.
pub struct ClaimKeeperParts {
    pub map: ClaimMap,
    pub scheduler: Arc<BuiltIn>,
    /// The monotonic clock of the scheduler.
    pub now: Arc<dyn Fn() -> Duration + Send + Sync>,
    pub clock: Arc<dyn Clock>,
    /// The longest time that a claim lasts.
    pub longest: Duration,
    pub metrics: ClaimMetrics,
}

/// Keeps the claims of this process. Clones share them.
#[derive(Clone)]
pub struct ClaimKeeper {
    parts: Arc<ClaimKeeperParts>,
    /// How many answers have asked for their claim to be kept, and how many of these claims are kept.
    asked: watch::Sender<u64>,
    kept: watch::Sender<u64>,
}

impl ClaimKeeper {
    pub fn rights() -> Vec<Right> {
        let right = Right::resource("", "v1", "configmaps", &[Verb::Get, Verb::Create, Verb::Update]);
        let right = right.at_home().in_own_namespace().named([NAME]);
        vec![right.because("The leader keeps the capacity that Nova was promised, for the next leader.")]
    }

    pub fn new(parts: ClaimKeeperParts) -> Self {
        Self { parts: Arc::new(parts), asked: watch::Sender::new(0), kept: watch::Sender::new(0) }
    }

    /// The claim of an answer is to be kept: resolves when it is, and at the latest after [`WAIT`].
    pub async fn keep(&self) {
        let mut ticket = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            ticket = *asked;
        });
        let mut kept = self.kept.subscribe();
        let in_time = timeout(WAIT, kept.wait_for(|kept| *kept >= ticket)).await.is_ok();
        self.parts.metrics.answered(in_time);
    }

    /// Writes the claims as long as answers ask for it, until `stop`, and a little longer for requests that are still
    /// being answered.
    pub fn work(&self, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
        let keeper = self.clone();
        async move {
            let last = async {
                stop.cancelled().await;
                sleep(LINGER).await;
                let _ = timeout(LAST_WORK, keeper.all_kept()).await;
            };
            tokio::select! {
                biased;
                () = last => {}
                () = keeper.write_batches() => {}
            }
        }
    }

    async fn all_kept(&self) {
        let mut kept = self.kept.subscribe();
        let _ = kept.wait_for(|kept| *kept >= *self.asked.borrow()).await.is_ok();
    }

    /// Never ends.
    async fn write_batches(&self) {
        let (mut asked, mut failed, mut warned) = (self.asked.subscribe(), false, false);
        loop {
            let kept = *self.kept.borrow();
            // Cannot fail: the sender lives as long as this.
            let _ = asked.wait_for(|asked| *asked > kept).await.is_ok();
            let started = Instant::now();
            let ticket = *asked.borrow();
            match self.write(failed).await {
                Ok(()) => {
                    (failed, warned) = (false, false);
                    self.kept.send_replace(ticket);
                }
                Err(error) => {
                    let is_conflict = error.class() == ErrorClass::Conflict;
                    // Somebody has changed the map: what is in it is read, and it is written again at once.
                    if !std::mem::replace(&mut failed, true) && is_conflict {
                        continue;
                    }
                    if !std::mem::replace(&mut warned, true) {
                        warn!(error = chain(&error), "claims not kept; until they are, a restart would lose them");
                    }
                    sleep(if is_conflict { Duration::ZERO } else { PAUSE }).await;
                }
            }
            sleep_until(started + INTERVAL).await;
        }
    }

    async fn write(&self, reread: bool) -> Result<(), WriteError> {
        let map = &self.parts.map;
        let seen = match map.get() {
            State::Present(seen) if !reread => Some(seen),
            State::Absent if !reread => None,
            _ => map.read().await?,
        };
        let (text, left_out) = object::encode(self.parts.scheduler.held_claims(), MOST);
        self.parts.metrics.left_out(left_out);
        let mut new = seen.as_deref().cloned().unwrap_or_default();
        new.data = Some([(KEY.to_owned(), text)].into());
        map.write(seen.as_deref(), &new).await
    }

    /// Takes over the claims of the former leader; nothing may be decided before. Tries until the API server has
    /// answered. Returns the VMs that are to be booked again.
    pub async fn restore(&self) -> Vec<Booking> {
        let mut is_first = true;
        loop {
            match self.load().await {
                Ok(bookings) => return bookings,
                Err(error) if is_first => warn!(error = chain(&error), "waiting for the claims of the former leader"),
                Err(_) => {}
            }
            is_first = false;
            sleep(PAUSE).await;
        }
    }

    /// The same, once.
    pub async fn load(&self) -> Result<Vec<Booking>, WriteError> {
        let Some(map) = self.parts.map.read().await? else { return Ok(Vec::new()) };
        let text = map.data.as_ref().and_then(|data| data.get(KEY)).map_or("[]", String::as_str);
        let clocks = Clocks { now: (self.parts.now)(), time: self.parts.clock.trusted_now().ok() };
        let (claims, invalid) = object::decode(text, clocks, self.parts.longest);
        if invalid > 0 {
            warn!(invalid, "the ConfigMap {NAME} has entries that are no claims; they are ignored");
        }
        let bookings = self.parts.scheduler.restore_claims(claims);
        info!(claims = self.parts.scheduler.claimed(), "claims of the former leader taken over");
        Ok(bookings)
    }
}
