//! The limits of a server: connections, sizes and times.

use std::time::Duration;

/// Bounds of one server. Every server has some; what an API needs differently it sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time; more wait until one ends.
    pub connections: usize,
    /// Time from the first byte of a request to the end of its headers.
    pub headers: Duration,
    /// Time that a connection may rest between two requests.
    pub idle: Duration,
    /// Time that a client may pause while it sends a body or takes an answer.
    pub pause: Duration,
    /// Time from the end of the headers to the answer.
    pub answer: Duration,
    pub body: usize,
    /// Time that running requests get when the server stops.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            headers: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            pause: Duration::from_secs(30),
            answer: Duration::from_secs(60),
            body: 8 * 1024 * 1024,
            drain: Duration::from_secs(2),
        }
    }
}

impl Limits {
    /// The same limits with another size of bodies, in bytes.
    #[must_use]
    pub fn with_body(self, bytes: usize) -> Self {
        Self { body: bytes, ..self }
    }
}
