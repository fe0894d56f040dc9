//! Decides which connections a server keeps: a bounded number, shared fairly by the addresses that they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;

/// Addresses that are remembered because a client there has authenticated.
const MOST_KNOWN: usize = 1024;
/// A peer gets one of so many parts of the connections.
const PEER_PARTS: usize = 4;
/// A kubelet asks for two probes at the same time, on new connections while the former ones end.
const LEAST_OF_A_PEER: usize = 4;
/// One of so many parts of the connections is kept for peers that have authenticated before.
const RESERVED_PARTS: usize = 8;
/// The idle time with more than half of the connections open.
const IDLE_ABOVE_HALF: Duration = Duration::from_secs(10);
/// The idle time with more than nine tenths of the connections open.
const IDLE_ABOVE_NINE_TENTHS: Duration = Duration::from_secs(1);
/// A connection that is idle for less time may be waiting for a request that is on its way. It gives way only to
/// a connection of the same peer, or of one with fewer connections.
const IDLE_FOR_A_MOMENT: Duration = Duration::from_millis(100);

/// What a pool admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PoolRules {
    /// Connections at the same time, at least 1.
    pub connections: usize,
    /// Peers that may have more than their share.
    pub trusted: BTreeSet<IpAddr>,
    /// How long a connection may be without a request while the pool is at most half full.
    pub idle: Duration,
}

impl PoolRules {
    fn peer_share(&self) -> usize {
        (self.connections / PEER_PARTS).max(LEAST_OF_A_PEER)
    }

    /// The connections that peers may have that never authenticated, once others have.
    fn unknown_share(&self) -> usize {
        (self.connections - self.connections / RESERVED_PARTS).max(1)
    }

    /// How long a connection may be without a request when so many are open.
    fn idle_time(&self, open: usize) -> Duration {
        if open * 10 > self.connections * 9 {
            self.idle.min(IDLE_ABOVE_NINE_TENTHS)
        } else if open * 2 > self.connections {
            self.idle.min(IDLE_ABOVE_HALF)
        } else {
            self.idle
        }
    }
}

/// One connection of a pool; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnectionId(u64);

/// The limit that a new connection would exceed while no connection can be closed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FullLimit {
    /// That of the server.
    Connections,
    /// That of one peer.
    Peer,
    /// That of all peers which never authenticated.
    UnknownPeers,
}

/// The decision about a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Admitted(ConnectionId),
    /// The other one is to be closed, and is not in the pool any more.
    AdmittedInsteadOf(ConnectionId, ConnectionId),
    Refused(FullLimit),
}

#[derive(Debug, Clone, Copy)]
struct Open {
    peer: IpAddr,
    /// `None` while a request is handled or its response is written.
    idle_since: Option<Instant>,
}

/// The open connections of a server.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    rules: PoolRules,
    open: BTreeMap<ConnectionId, Open>,
    /// Those without a request, the longest idle first.
    idle: BTreeSet<(Instant, ConnectionId)>,
    /// How many connections each peer has.
    peers: BTreeMap<IpAddr, usize>,
    /// Peers that have authenticated, with the number of their last authentication.
    known: BTreeMap<IpAddr, u64>,
    /// How many connections have peers that are not known.
    unknown: usize,
    next: u64,
}

impl ConnectionPool {
    pub(crate) fn new(rules: PoolRules) -> Self {
        let rules = PoolRules { connections: rules.connections.max(1), ..rules };
        Self {
            rules,
            open: BTreeMap::new(),
            idle: BTreeSet::new(),
            peers: BTreeMap::new(),
            known: BTreeMap::new(),
            unknown: 0,
            next: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether fewer connections are open than half of the limit.
    pub(crate) fn is_below_half(&self) -> bool {
        self.len() * 2 < self.rules.connections
    }

    /// Decides about a new connection of this peer, which is idle until its first request has arrived.
    pub(crate) fn admit(&mut self, peer: IpAddr, now: Instant) -> Admission {
        let Some(full) = self.full_limit(peer) else { return Admission::Admitted(self.insert(peer, now)) };
        let Some(closed) = self.longest_idle(full, peer, now) else { return Admission::Refused(full) };
        self.remove(closed);
        Admission::AdmittedInsteadOf(self.insert(peer, now), closed)
    }

    /// Says that a request has arrived. It must not be handled if the connection was closed in the meantime.
    #[must_use]
    pub(crate) fn begin_request(&mut self, id: ConnectionId) -> bool {
        let Some(open) = self.open.get_mut(&id) else { return false };
        if let Some(since) = open.idle_since.take() {
            self.idle.remove(&(since, id));
        }
        true
    }

    /// Says that the response is written.
    pub(crate) fn end_request(&mut self, id: ConnectionId, now: Instant) {
        let Some(open) = self.open.get_mut(&id) else { return };
        if open.idle_since.is_none() {
            open.idle_since = Some(now);
            self.idle.insert((now, id));
        }
    }

    /// Removes a connection that has ended.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        let Some(Open { peer, idle_since }) = self.open.remove(&id) else { return };
        if let Some(since) = idle_since {
            self.idle.remove(&(since, id));
        }
        if !self.known.contains_key(&peer) {
            self.unknown -= 1;
        }
        if let Some(count) = self.peers.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&peer);
            }
        }
    }

    /// Removes the connections that were idle for too long, as full as the pool is.
    pub(crate) fn remove_expired(&mut self, now: Instant) -> Vec<ConnectionId> {
        let mut expired = Vec::new();
        while let Some(&(since, id)) = self.idle.first() {
            if now.saturating_duration_since(since) < self.rules.idle_time(self.len()) {
                break;
            }
            self.remove(id);
            expired.push(id);
        }
        expired
    }

    /// Removes up to `most` connections that have been idle for a moment, the longest idle first.
    pub(crate) fn remove_idle(&mut self, most: usize, now: Instant) -> Vec<ConnectionId> {
        let longest = self.idle.iter().take(most).take_while(|(since, _)| is_idle(*since, now));
        let longest: Vec<ConnectionId> = longest.map(|(_, id)| *id).collect();
        for id in &longest {
            self.remove(*id);
        }
        longest
    }

    /// Remembers that a client at this address has authenticated. Of too many addresses the one is forgotten that did
    /// so longest ago.
    pub(crate) fn remember(&mut self, peer: IpAddr) {
        let number = self.next_number();
        if self.known.insert(peer, number).is_some() {
            return;
        }
        self.unknown -= self.count(peer);
        if self.known.len() > MOST_KNOWN
            && let Some((oldest, _)) = self.known.iter().min_by_key(|(_, number)| **number)
        {
            let oldest = *oldest;
            self.known.remove(&oldest);
            self.unknown += self.count(oldest);
        }
    }

    fn count(&self, peer: IpAddr) -> usize {
        self.peers.get(&peer).copied().unwrap_or_default()
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The limit that another connection of this peer would exceed.
    fn full_limit(&self, peer: IpAddr) -> Option<FullLimit> {
        let (is_known, has_reserve) = (self.known.contains_key(&peer), !self.known.is_empty());
        if !self.rules.trusted.contains(&peer) && self.count(peer) >= self.rules.peer_share() {
            Some(FullLimit::Peer)
        } else if has_reserve && !is_known && self.unknown >= self.rules.unknown_share() {
            Some(FullLimit::UnknownPeers)
        } else {
            (self.len() >= self.rules.connections).then_some(FullLimit::Connections)
        }
    }

    /// The longest idle one of the connections that count for this limit and give way to a connection of this peer.
    fn longest_idle(&self, limit: FullLimit, peer: IpAddr, now: Instant) -> Option<ConnectionId> {
        let own = self.count(peer);
        let gives_way = |owner: IpAddr, since: Instant| is_idle(since, now) || owner == peer || self.count(owner) > own;
        let is_eligible = |owner: IpAddr, since: Instant| match limit {
            FullLimit::Connections => gives_way(owner, since),
            FullLimit::Peer => owner == peer,
            FullLimit::UnknownPeers => !self.known.contains_key(&owner) && gives_way(owner, since),
        };
        let mut idle =
            self.idle.iter().filter_map(|(since, id)| self.open.get(id).map(|open| (*id, open.peer, *since)));
        idle.find(|(_, owner, since)| is_eligible(*owner, *since)).map(|(id, ..)| id)
    }

    fn insert(&mut self, peer: IpAddr, now: Instant) -> ConnectionId {
        let id = ConnectionId(self.next_number());
        self.open.insert(id, Open { peer, idle_since: Some(now) });
        self.idle.insert((now, id));
        *self.peers.entry(peer).or_default() += 1;
        if !self.known.contains_key(&peer) {
            self.unknown += 1;
        }
        id
    }
}

fn is_idle(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) >= IDLE_FOR_A_MOMENT
}

#[cfg(test)]
mod tests;
