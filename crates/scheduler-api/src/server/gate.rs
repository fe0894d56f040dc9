//! How many requests are inside at the same time, and how many bytes their bodies have together. Who does not get in
//! soon is told to come back.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::ApiLimits;
use super::refusal::Refusal;

#[derive(Debug)]
pub(super) struct Gate {
    requests: Semaphore,
    bytes: Semaphore,
    wait: Duration,
}

/// A request that is inside, until it is dropped.
#[derive(Debug)]
pub(super) struct Pass<'g> {
    gate: &'g Gate,
    bytes: Option<SemaphorePermit<'g>>,
    _request: SemaphorePermit<'g>,
}

impl Gate {
    pub(super) fn new(limits: &ApiLimits) -> Self {
        let bytes = limits.bodies.max(limits.body).min(Semaphore::MAX_PERMITS);
        Self { requests: Semaphore::new(limits.requests), bytes: Semaphore::new(bytes), wait: limits.wait }
    }

    /// Waits for a turn.
    pub(super) async fn enter(&self) -> Result<Pass<'_>, Refusal> {
        let request = self.within(self.requests.acquire()).await?;
        Ok(Pass { gate: self, bytes: None, _request: request })
    }

    async fn within<T, E>(&self, turn: impl Future<Output = Result<T, E>>) -> Result<T, Refusal> {
        timeout(self.wait, turn).await.ok().and_then(Result::ok).ok_or(Refusal::Overloaded)
    }
}

impl Pass<'_> {
    /// Waits for room for more bytes of the body.
    pub(super) async fn hold(&mut self, bytes: usize) -> Result<(), Refusal> {
        let bytes = u32::try_from(bytes).map_err(|_| Refusal::TooLarge)?;
        let more = self.gate.within(self.gate.bytes.acquire_many(bytes)).await?;
        match &mut self.bytes {
            Some(held) => held.merge(more),
            None => self.bytes = Some(more),
        }
        Ok(())
    }
}
