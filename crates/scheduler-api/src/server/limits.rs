//! The limits of the endpoint.

use std::time::Duration;

/// Bounds of the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiLimits {
    /// `scheduler.maxBodyBytes`: bytes of one body.
    pub body: usize,
    /// Requests whose body has arrived, at the same time; more wait for [`ApiLimits::wait`].
    pub requests: usize,
    /// Bytes of all bodies at the same time, at least those of one.
    pub bodies: usize,
    /// Bodies that are decoded at the same time: what they become may need many times their memory.
    pub decodes: usize,
    /// Requests with a body of more than a MiB at the same time, from its first byte to the answer.
    pub large: usize,
    /// Time that a request waits for its turn, or for free capacity for its body.
    pub wait: Duration,
    /// Time that a body may take to arrive.
    pub upload: Duration,
    /// Time from the headers to the answer: below the 30 s that callers wait.
    pub answer: Duration,
}

impl Default for ApiLimits {
    fn default() -> Self {
        let body = 32 << 20;
        Self {
            body,
            requests: 256,
            bodies: 2 * body,
            decodes: 4,
            large: 2,
            wait: Duration::from_secs(2),
            upload: Duration::from_secs(10),
            answer: Duration::from_secs(25),
        }
    }
}

impl ApiLimits {
    /// The same limits with another size of one body, in bytes.
    #[must_use]
    pub fn with_body(self, bytes: usize) -> Self {
        Self { body: bytes, bodies: bytes.saturating_mul(2), ..self }
    }
}
