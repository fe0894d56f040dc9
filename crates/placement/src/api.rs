//! The Placement API of a process: ledger, policies and limits.

mod seeds;

use std::sync::Arc;
use std::time::Duration;

use berth_openstack::authentication::Authentication;
use berth_openstack::policy::Policies;
use berth_placement_model::question::GenerationOptions;
use berth_telemetry::clock::{Clock, SystemClock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

pub use seeds::Seeds;

use crate::ledger::Ledger;
use crate::protocol::api_error::ApiError;
use crate::protocol::cors::Cors;

/// The limits of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Time for a request, the sending of its body included.
    pub deadline: Duration,
    /// The additional time in which other parts may report why they have failed.
    pub grace: Duration,
    /// Requests that run at once; more wait.
    pub requests: usize,
    /// Answers of candidates that are generated at once; more wait.
    pub rounds: usize,
    /// How long a request waits for a permit before it gets 503.
    pub wait: Duration,
    pub body: usize,
    /// Bytes of all bodies that are held at once.
    pub bodies: usize,
    /// Bytes of all answers that are held at once until their clients have read them.
    pub unread: usize,
    /// Answers that wait for a part of them; a further one is refused at once, because it holds memory while it waits.
    pub waiting: usize,
    pub target: usize,
}

impl Bounds {
    /// The API bounds bodies and responses with its own errors; the deadline of the HTTP stack is longer, so that accepted requests
    /// can finish, also when the process is asked to end.
    pub fn longest_answer(&self) -> Duration {
        self.deadline + 3 * self.grace
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            grace: Duration::from_secs(2),
            requests: 512,
            rounds: 8,
            wait: Duration::from_secs(5),
            body: 2 * 1024 * 1024,
            bodies: 32 * 1024 * 1024,
            unread: 24 * 1024 * 1024,
            waiting: 4,
            target: 60_000,
        }
    }
}

/// Shares of memory are counted in this many bytes.
const SHARE: usize = 1024;

/// The API of one process.
pub struct Api {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) authentication: Arc<dyn Authentication>,
    pub(crate) policies: Policies,
    pub(crate) cors: Option<Cors>,
    pub(crate) bounds: Bounds,
    pub(crate) clock: Arc<dyn Clock>,
    generation: GenerationOptions,
    seeds: Option<Seeds>,
    rounds: Arc<Semaphore>,
    permits: Arc<Semaphore>,
    shares: Arc<Semaphore>,
    unread: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Api {
    /// An API without CORS, with the usual bounds.
    pub fn new(ledger: Arc<dyn Ledger>, authentication: Arc<dyn Authentication>, policies: Policies) -> Self {
        let api = Self {
            ledger,
            authentication,
            policies,
            cors: None,
            bounds: Bounds::default(),
            clock: Arc::new(SystemClock),
            generation: GenerationOptions::default(),
            seeds: None,
            rounds: Arc::new(Semaphore::new(0)),
            permits: Arc::new(Semaphore::new(0)),
            shares: Arc::new(Semaphore::new(0)),
            unread: Arc::new(Semaphore::new(0)),
            waiting: Semaphore::new(0),
        };
        api.with_bounds(Bounds::default())
    }

    #[must_use]
    pub fn with_cors(self, cors: Option<Cors>) -> Self {
        Self { cors, ..self }
    }

    #[must_use]
    pub fn with_bounds(self, bounds: Bounds) -> Self {
        let turns = Arc::new(Semaphore::new(bounds.requests));
        let shares = Arc::new(Semaphore::new(bounds.bodies / SHARE));
        let rounds = Arc::new(Semaphore::new(bounds.rounds));
        let unread = Arc::new(Semaphore::new(bounds.unread / SHARE));
        Self { bounds, rounds, permits: turns, shares, unread, waiting: Semaphore::new(bounds.waiting), ..self }
    }

    /// The same with candidates that are generated otherwise.
    #[must_use]
    pub fn with_generation(self, generation: GenerationOptions) -> Self {
        Self { generation, ..self }
    }

    /// The same with candidates in an order that is drawn for each query.
    #[must_use]
    pub fn with_seeds(self, seeds: Option<Seeds>) -> Self {
        Self { seeds, ..self }
    }

    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The right to run, once there is free capacity.
    pub(crate) async fn acquire_permit(&self, until: Instant) -> Result<OwnedSemaphorePermit, ApiError> {
        self.acquire(&self.permits, 1, until, "too many requests at once").await
    }

    pub(crate) async fn share(&self, bytes: usize, until: Instant) -> Result<OwnedSemaphorePermit, ApiError> {
        self.acquire(&self.shares, shares(bytes), until, "too many large bodies at once").await
    }

    /// What a share for bodies lacks, to hold so many bytes.
    pub(crate) async fn more(
        &self,
        share: &OwnedSemaphorePermit,
        bytes: usize,
        until: Instant,
    ) -> Result<OwnedSemaphorePermit, ApiError> {
        let lacks = shares(bytes).saturating_sub(u32::try_from(share.num_permits()).unwrap_or(u32::MAX));
        self.acquire(&self.shares, lacks, until, "too many large bodies at once").await
    }

    /// A share of the memory for answers that are not read yet: all of it for an answer that is larger.
    pub(crate) async fn unread(&self, bytes: usize, until: Instant) -> Result<OwnedSemaphorePermit, ApiError> {
        let count = shares(bytes.min(self.bounds.unread.saturating_sub(SHARE)));
        if let Ok(share) = self.unread.clone().try_acquire_many_owned(count) {
            return Ok(share);
        }
        let full = "too many unread answers at once";
        let _place = self.waiting.try_acquire().map_err(|_| ApiError::unavailable(full))?;
        self.acquire(&self.unread, count, until, full).await
    }

    /// How the candidates of one query are generated.
    pub(crate) fn generation(&self) -> GenerationOptions {
        let drawn = self.seeds.as_ref().map(Seeds::draw);
        GenerationOptions { shuffle: drawn.or(self.generation.shuffle), ..self.generation }
    }

    pub(crate) async fn round(&self, until: Instant) -> Result<OwnedSemaphorePermit, ApiError> {
        self.acquire(&self.rounds, 1, until, "too many queries for candidates at once").await
    }

    async fn acquire(
        &self,
        from: &Arc<Semaphore>,
        count: u32,
        until: Instant,
        full: &str,
    ) -> Result<OwnedSemaphorePermit, ApiError> {
        let until = until.min(Instant::now() + self.bounds.wait);
        let permit = timeout_at(until, from.clone().acquire_many_owned(count)).await;
        permit.ok().and_then(Result::ok).ok_or_else(|| ApiError::unavailable(full))
    }
}

fn shares(bytes: usize) -> u32 {
    u32::try_from(bytes / SHARE + 1).unwrap_or(u32::MAX)
}
