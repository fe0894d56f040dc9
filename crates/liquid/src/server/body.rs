//! Reads bodies within bounds of size, time and memory.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request};
use axum::http::header::CONTENT_LENGTH;
use berth_http::Content;
use berth_http::content::NoContent;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::refusal::Refusal;

const KIB: usize = 1024;

/// Bounds of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Bytes of one body.
    pub body: usize,
    /// Bytes of all bodies at the same time, at least those of one.
    pub bodies: usize,
    /// Time that a request waits for memory.
    pub wait: Duration,
    /// Time that a body may take to arrive.
    pub upload: Duration,
}

impl BodyLimits {
    /// The limits for bodies of at most so many bytes (`maxRequestBytes`).
    pub fn new(body: usize) -> Self {
        let seconds = Duration::from_secs;
        Self { body, bodies: body.saturating_mul(8), wait: seconds(2), upload: seconds(10) }
    }
}

/// The memory for the bodies of a process.
pub(super) struct BodyReader {
    pub(super) limits: BodyLimits,
    /// In KiB.
    free: Arc<Semaphore>,
}

impl BodyReader {
    pub(super) fn new(limits: BodyLimits) -> Self {
        let kib = kib(limits.bodies.max(limits.body)).try_into().unwrap_or(Semaphore::MAX_PERMITS);
        Self { limits, free: Arc::new(Semaphore::new(kib.min(Semaphore::MAX_PERMITS))) }
    }

    /// The body, and its share of the memory, to be kept as long as the body.
    pub(super) async fn read(&self, request: Request) -> Result<(Bytes, OwnedSemaphorePermit), Refusal> {
        let declared = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let most = self.limits.body;
        let bytes = declared.unwrap_or(most);
        if bytes > most {
            return Err(Refusal::TooLarge);
        }
        let free = self.free.clone().acquire_many_owned(kib(bytes));
        let share = timeout(self.limits.wait, free).await.ok().and_then(Result::ok).ok_or(Refusal::Overloaded)?;
        match timeout(self.limits.upload, Content::from_request(request, &())).await {
            Ok(Ok(Content(body))) => Ok((body, share)),
            Ok(Err(NoContent::TooLarge)) => Err(Refusal::TooLarge),
            Ok(Err(NoContent::Unreadable)) => Err(Refusal::Unreadable),
            Err(_) => Err(Refusal::Slow),
        }
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX)
}
