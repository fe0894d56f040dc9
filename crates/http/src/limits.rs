//! The limits of a server: connections, sizes and times.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use crate::open_files;

/// Connections of a listener for probes or metrics.
const PROBE_CONNECTIONS: usize = 64;
/// They are at most one of so many parts of the open files.
const PROBE_PARTS: usize = 16;
/// They are at least so many.
const FEWEST: usize = 8;

/// Bounds of one server. Every server has some; what an API needs differently it sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time. For a further one the longest idle one is closed; if none is idle, the further one
    /// gets 503.
    pub connections: usize,
    /// Peers, such as proxies, that may have more than a quarter of the connections.
    pub trusted_peers: BTreeSet<IpAddr>,
    /// Time from the first byte of a request to the end of its headers.
    pub headers: Duration,
    /// Time that a connection may be without a request; shorter when more than half of the connections are open.
    pub idle: Duration,
    /// Time for which a client may send a body, or read a response, at less than 1 KiB/s.
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
            trusted_peers: BTreeSet::new(),
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
    /// The limits of a listener for probes or metrics: few connections, because its clients are few.
    pub fn of_probes() -> Self {
        let few = PROBE_CONNECTIONS.min(open_files::limit() / PROBE_PARTS).max(FEWEST);
        Self { connections: few, ..Self::default() }
    }

    /// The same limits with as many connections as wanted, but at most half of the open files.
    #[must_use]
    pub fn with_connections(self, wanted: usize, trusted_peers: BTreeSet<IpAddr>) -> Self {
        Self { connections: open_files::connection_limit(wanted, open_files::limit()), trusted_peers, ..self }
    }

    /// The same limits with another size of bodies, in bytes.
    #[must_use]
    pub fn with_body(self, bytes: usize) -> Self {
        Self { body: bytes, ..self }
    }
}
