//! Bounds the number of concurrent requests and the total size of their bodies. A request that gets no permit soon is
//! answered with 503.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::ApiLimits;
use super::refusal::Refusal;

#[derive(Debug)]
pub(super) struct AdmissionLimiter {
    requests: Semaphore,
    bytes: Semaphore,
    wait: Duration,
}

/// A request that is inside, until it is dropped.
#[derive(Debug)]
pub(super) struct AdmissionPermit<'g> {
    limiter: &'g AdmissionLimiter,
    bytes: Option<SemaphorePermit<'g>>,
    _request: SemaphorePermit<'g>,
}

impl AdmissionLimiter {
    pub(super) fn new(limits: &ApiLimits) -> Self {
        let bytes = limits.bodies.max(limits.body).min(Semaphore::MAX_PERMITS);
        Self { requests: Semaphore::new(limits.requests), bytes: Semaphore::new(bytes), wait: limits.wait }
    }

    pub(super) async fn enter(&self) -> Result<AdmissionPermit<'_>, Refusal> {
        let request = self.within(self.requests.acquire()).await?;
        Ok(AdmissionPermit { limiter: self, bytes: None, _request: request })
    }

    async fn within<T, E>(&self, turn: impl Future<Output = Result<T, E>>) -> Result<T, Refusal> {
        timeout(self.wait, turn).await.ok().and_then(Result::ok).ok_or(Refusal::Overloaded)
    }
}

impl AdmissionPermit<'_> {
    /// Waits for free capacity for more bytes of the body.
    pub(super) async fn hold(&mut self, bytes: usize) -> Result<(), Refusal> {
        let bytes = u32::try_from(bytes).map_err(|_| Refusal::TooLarge)?;
        let more = self.limiter.within(self.limiter.bytes.acquire_many(bytes)).await?;
        match &mut self.bytes {
            Some(held) => held.merge(more),
            None => self.bytes = Some(more),
        }
        Ok(())
    }
}
