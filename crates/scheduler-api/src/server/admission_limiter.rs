//! Bounds the number of concurrent requests, the total size of their bodies, and how many are decoded at once. A request
//! that gets no permit soon is answered with 503.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::ApiLimits;
use super::refusal::Refusal;

#[derive(Debug)]
pub(super) struct AdmissionLimiter {
    requests: Semaphore,
    bytes: Semaphore,
    decodes: Arc<Semaphore>,
    large: Semaphore,
    wait: Duration,
}

/// A request whose body has arrived, until this is dropped.
#[derive(Debug)]
pub(super) struct AdmissionPermit<'g> {
    _request: SemaphorePermit<'g>,
}

/// The share of a body in the memory for all bodies.
#[derive(Debug)]
pub(super) struct BodyShare<'g> {
    limiter: &'g AdmissionLimiter,
    bytes: Option<SemaphorePermit<'g>>,
    large: Option<SemaphorePermit<'g>>,
}

impl AdmissionLimiter {
    pub(super) fn new(limits: &ApiLimits) -> Self {
        let bytes = limits.bodies.max(limits.body).min(Semaphore::MAX_PERMITS);
        Self {
            requests: Semaphore::new(limits.requests),
            bytes: Semaphore::new(bytes),
            decodes: Arc::new(Semaphore::new(limits.decodes)),
            large: Semaphore::new(limits.large),
            wait: limits.wait,
        }
    }

    pub(super) async fn enter(&self) -> Result<AdmissionPermit<'_>, Refusal> {
        let request = self.within(self.requests.acquire()).await?;
        Ok(AdmissionPermit { _request: request })
    }

    /// The share of a body of which nothing has arrived.
    pub(super) fn body_share(&self) -> BodyShare<'_> {
        BodyShare { limiter: self, bytes: None, large: None }
    }

    /// The right to decode a body, also on another thread.
    pub(super) async fn acquire_decode(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        self.within(self.decodes.clone().acquire_owned()).await
    }

    async fn within<T, E>(&self, turn: impl Future<Output = Result<T, E>>) -> Result<T, Refusal> {
        timeout(self.wait, turn).await.ok().and_then(Result::ok).ok_or(Refusal::Overloaded)
    }
}

impl BodyShare<'_> {
    /// Waits for free capacity for more bytes of the body, which have arrived.
    pub(super) async fn hold(&mut self, bytes: usize) -> Result<(), Refusal> {
        let more = self.acquire(bytes).await?;
        match &mut self.bytes {
            Some(held) => held.merge(more),
            None => self.bytes = Some(more),
        }
        Ok(())
    }

    pub(super) fn is_large(&self) -> bool {
        self.large.is_some()
    }

    /// Waits until the body may be a large one, and until there is free capacity for so many bytes more, of which it takes
    /// none: they have not arrived.
    pub(super) async fn admit_large(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.large = Some(self.limiter.within(self.limiter.large.acquire()).await?);
        self.acquire(bytes).await.map(drop)
    }
}

impl<'g> BodyShare<'g> {
    async fn acquire(&self, bytes: usize) -> Result<SemaphorePermit<'g>, Refusal> {
        let bytes = u32::try_from(bytes).map_err(|_| Refusal::TooLarge)?;
        self.limiter.within(self.limiter.bytes.acquire_many(bytes)).await
    }
}
