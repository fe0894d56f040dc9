//! The open connections of a server: asks the pool about each, counts and reports what it refuses, and tells the tasks of
//! connections to end.

mod pool;

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::Extensions;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::pool::{Admission, ConnectionId, ConnectionPool, FullLimit, PoolRules};
use crate::limits::Limits;
use crate::metrics::HttpMetrics;

/// So many idle connections are closed when the process has no descriptors left.
const CLOSED_FOR_DESCRIPTORS: usize = 16;

/// The open connections of one server. Clones share them.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Shared>);

struct Shared {
    server: &'static str,
    limit: usize,
    metrics: Option<HttpMetrics>,
    state: Mutex<State>,
}

struct State {
    pool: ConnectionPool,
    ends: HashMap<ConnectionId, CancellationToken>,
    /// The refusals that were reported since the pool was last less than half full.
    reported: BTreeSet<Refused>,
}

/// Why the server closes a connection.
#[derive(Debug, Clone, Copy)]
enum Closed {
    Idle,
    /// For a new connection.
    Displaced,
    Descriptors,
}

impl Closed {
    fn label(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Displaced => "displaced",
            Self::Descriptors => "descriptors",
        }
    }
}

/// Why the server refuses a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Refused {
    Full(FullLimit),
    Descriptors,
}

impl Refused {
    fn label(self) -> &'static str {
        match self {
            Self::Full(FullLimit::Connections) => "limit",
            Self::Full(FullLimit::Peer) => "peer",
            Self::Full(FullLimit::UnknownPeers) => "reserved",
            Self::Descriptors => "descriptors",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Full(FullLimit::Connections) => "raise http.maxConnections, or find out who opens so many",
            Self::Full(FullLimit::Peer) => "name the address in http.trustedPeers if it is a proxy",
            Self::Full(FullLimit::UnknownPeers) => "the rest is reserved for clients that have authenticated before",
            Self::Descriptors => "raise the limit of open files",
        }
    }
}

impl Connections {
    pub(crate) fn new(server: &'static str, limits: &Limits, metrics: Option<HttpMetrics>) -> Self {
        let rules =
            PoolRules { connections: limits.connections, trusted: limits.trusted_peers.clone(), idle: limits.idle };
        let state = State { pool: ConnectionPool::new(rules), ends: HashMap::new(), reported: BTreeSet::new() };
        Self(Arc::new(Shared { server, limit: limits.connections, metrics, state: Mutex::new(state) }))
    }

    /// Takes a new connection in; `None`: it is to be refused.
    pub(crate) fn admit(&self, peer: SocketAddr) -> Option<OpenConnection> {
        let mut state = self.0.state.lock();
        let id = match state.pool.admit(canonical(peer), Instant::now()) {
            Admission::Admitted(id) => id,
            Admission::AdmittedInsteadOf(id, closed) => {
                self.close(&mut state, [closed], Closed::Displaced);
                id
            }
            Admission::Refused(full) => {
                self.count_refused(&mut state, Refused::Full(full), peer);
                return None;
            }
        };
        if state.pool.is_below_half() {
            state.reported.clear();
        }
        let end = CancellationToken::new();
        state.ends.insert(id, end.clone());
        drop(state);
        self.count_open(1);
        Some(OpenConnection { all: self.clone(), id, peer, end })
    }

    /// Closes the connections that were idle for too long.
    pub(crate) fn close_expired(&self) {
        let mut state = self.0.state.lock();
        let expired = state.pool.remove_expired(Instant::now());
        self.close(&mut state, expired, Closed::Idle);
    }

    /// Closes some idle connections, because the process can open no more files; how many.
    pub(crate) fn close_for_descriptors(&self) -> usize {
        let mut state = self.0.state.lock();
        let closed = state.pool.remove_idle(CLOSED_FOR_DESCRIPTORS, Instant::now());
        let count = closed.len();
        self.close(&mut state, closed, Closed::Descriptors);
        count
    }

    fn close(&self, state: &mut State, closed: impl IntoIterator<Item = ConnectionId>, why: Closed) {
        for id in closed {
            if let Some(end) = state.ends.get(&id) {
                end.cancel();
            }
            if let Some(metrics) = &self.0.metrics {
                metrics.closed.with_label_values(&[self.0.server, why.label()]).inc();
            }
        }
    }

    /// Counts a connection that is refused because the process can open no more files.
    pub(crate) fn refuse_for_descriptors(&self, peer: SocketAddr) {
        self.count_refused(&mut self.0.state.lock(), Refused::Descriptors, peer);
    }

    fn count_refused(&self, state: &mut State, why: Refused, peer: SocketAddr) {
        let Shared { server, limit, metrics, .. } = &*self.0;
        if let Some(metrics) = metrics {
            metrics.refused.with_label_values(&[*server, why.label()]).inc();
        }
        if state.reported.insert(why) {
            let (reason, advice, peer) = (why.label(), why.advice(), peer.ip());
            tracing::warn!(server, limit, reason, advice, %peer, "connections refused; further ones are only counted");
        }
    }

    fn count_open(&self, change: i64) {
        if let Some(metrics) = &self.0.metrics {
            metrics.connections.with_label_values(&[self.0.server]).add(change);
        }
    }
}

/// IPv4 addresses are the same ones on a socket of IPv6.
fn canonical(peer: SocketAddr) -> IpAddr {
    peer.ip().to_canonical()
}

/// A connection, which is counted until this is dropped.
pub(crate) struct OpenConnection {
    all: Connections,
    id: ConnectionId,
    peer: SocketAddr,
    end: CancellationToken,
}

impl OpenConnection {
    /// Whether a request that has arrived may be handled; if not, the connection is being closed.
    pub(crate) fn begin_request(&self) -> bool {
        self.all.0.state.lock().pool.begin_request(self.id)
    }

    /// Says that the response is written.
    pub(crate) fn end_request(&self) {
        self.all.0.state.lock().pool.end_request(self.id, Instant::now());
    }

    /// Waits until the connection must end at once.
    pub(crate) async fn closed(&self) {
        self.end.cancelled().await;
    }

    /// The handle for the requests of this connection.
    pub(crate) fn peer(&self) -> Peer {
        Peer { all: self.all.clone(), address: self.peer }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut state = self.all.0.state.lock();
        state.pool.remove(self.id);
        state.ends.remove(&self.id);
        drop(state);
        self.all.count_open(-1);
    }
}

/// The other end of the connection of a request, in its extensions.
#[derive(Clone)]
pub struct Peer {
    all: Connections,
    address: SocketAddr,
}

impl Peer {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says that credentials from this address were accepted: a part of the connections is reserved for such addresses.
    pub fn mark_authenticated(&self) {
        self.all.0.state.lock().pool.remember(canonical(self.address));
    }

    /// Does so for the connection of a request. Requests without a connection, as in tests of a router, have no peer.
    pub fn mark_authenticated_in(extensions: &Extensions) {
        if let Some(peer) = extensions.get::<Self>() {
            peer.mark_authenticated();
        }
    }
}
