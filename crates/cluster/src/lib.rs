//! The only crate that talks to Kubernetes: clients, stores with indexes, writes, events, controllers, the
//! election of a leader.
//!
//! A [`Store`] holds every object of a kind once, fed by a watch per cluster ([`feed`]) and by the answers to own writes
//! ([`Writer`]), so that an own write is visible at once. Controllers ([`Reconciler`], run by the [`Manager`]) get keys, read stores, and write
//! through writers, whose writes a [`Fence`] holds back when another process may lead ([`Election`]). Every key has its cluster in it; one cluster is the case with one entry.

mod admission;
mod answers;
mod brake;
mod chain;
mod class;
mod cluster;
mod clusters;
mod conflicts;
mod connect;
mod deadlines;
mod difference;
mod events;
mod first_seen;
mod fitness;
mod flavor_groups;
mod freeze;
mod guarded;
mod gvk;
pub mod indexes;
mod key;
mod kind;
mod lease;
mod manager;
mod metrics;
mod names;
mod preflight;
mod read_once;
mod rights;
mod routing;
mod single;
mod store;
mod stores;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod turns;
mod view_feed;
mod watch;
mod write;

pub use admission::{Fault, Refused, Tried, Untried, refuses, try_stored};
pub use brake::{Asker, Brake, BrakeParts, Disruption, Stopped, braked_slots, say_braked};
pub use chain::chain;
pub use class::{Class, Classified};
pub use cluster::Cluster;
pub use clusters::Clusters;
pub use conflicts::watch_conflicts;
pub use connect::{ConnectError, home_server};
pub use difference::difference;
pub use events::{Event, EventKind, Events};
pub use first_seen::{FirstSeen, Reading};
pub use fitness::{Fitness, watch_fitness};
pub use flavor_groups::{FlavorGroupsCache, FlavorGroupsError, KnownFlavorGroups};
pub use freeze::{Freezer, Frozen};
pub use guarded::Guarded;
pub use key::ObjectKey;
pub use kind::{Kind, kind_name};
pub use lease::{Candidate, Election, Ended, Fence, Leader, Leadership, Lost, NotLeader};
pub use manager::{Action, Around, Key, Manager, Options, Queue, Reconciler, Requests, Retry, Scope, Watches, Work};
pub use metrics::{
    BrakeMetrics, ClusterMetrics, ConflictMetrics, ControllerMetrics, EventMetrics, FitnessMetrics, LeaseMetrics,
    StoreMetrics, WriteMetrics,
};
pub use preflight::{Need, Preflight, Verb, preflight};
pub use read_once::{Listed, ReadError, leave_out};
pub use rights::{Right, Role, Rule, needs, roles};
pub use routing::{RouteError, Routes};
pub use single::{Single, SingleKind, State};
pub use store::{Change, Complete, Completeness, Entry, Index, Malformed, Partial, Store, Whole};
pub use stores::{Checkable, Contents, Feeding, Presence, Properties, ReadBy, StoreSet, Stores, Visitor};
pub use view_feed::{feed_hosts, feed_reservations};
pub use watch::{feed, feed_optional};
pub use write::{Call, Guard, Operation, WriteError, Writer, Written};

/// The examples of `CONTRIBUTING.md` compile.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
