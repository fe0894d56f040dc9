//! The only crate that talks to Kubernetes: clients, stores with indexes, writes, events, controllers and leader
//! election.
//!
//! A [`Store`] holds every object of a kind once, fed by a watch per cluster ([`feed`]) and by the answers to own
//! writes ([`Writer`]), so that an own write is visible at once. Controllers ([`Reconciler`], run by the [`Manager`])
//! get keys, read stores, and write through writers that a [`Fence`] stops when another process may lead
//! ([`Election`]). Every key names its cluster.

mod access_reviews;
mod admission;
mod answers;
mod cluster;
mod cluster_health;
mod clusters;
mod conflicts;
mod connect;
mod deadlines;
mod decode_guard;
mod definitions;
mod difference;
mod disruption_limit;
mod dry_run;
mod error_class;
mod events;
mod first_seen;
mod flavor_groups;
mod gvk;
pub mod indexes;
mod key;
mod kind;
mod lease;
mod manager;
mod metrics;
mod names;
mod pause;
mod preflight;
mod project_key;
mod published_schemas;
mod read_once;
mod rights;
mod routing;
mod single;
mod store;
mod stores;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod view_feed;
mod vm_hosts;
mod watch;
mod write;
mod write_limiter;

pub use access_reviews::{AccessReviews, AccessVerdict};
pub use admission::{Fault, Refused, Tried, Untried, refuses, try_stored};
pub use berth_telemetry::chain::chain;
pub use cluster::Cluster;
pub use cluster_health::{ClusterHealth, watch_cluster_health};
pub use clusters::Clusters;
pub use conflicts::watch_conflicts;
pub use connect::{ConnectError, bearer_token, home_server};
pub use decode_guard::DecodeGuard;
pub use definitions::{Definition, DefinitionState, definitions_of_others};
pub use difference::difference;
pub use disruption_limit::{
    Disruption, DisruptionLimit, DisruptionLimitParts, Requester, Stopped, disruption_limited_reason,
    disruption_limited_slots, write_disruption_limited,
};
pub use dry_run::{DryRun, dry_run_config_map, dry_run_lease};
pub use error_class::{Classified, ErrorClass};
pub use events::{Event, EventKind, Events};
pub use first_seen::{FirstSeen, Reading};
pub use flavor_groups::{FlavorGroupsCache, FlavorGroupsError, KnownFlavorGroups};
pub use key::ObjectKey;
pub use kind::{Kind, kind_name};
pub use lease::{Candidate, Election, Ended, Fence, Leader, Leadership, Lost, NotLeader, published_leader};
pub use manager::{
    Action, Activity, Around, Key, KeyFailures, KeyState, Manager, ObjectField, Options, Queue, Reconciler,
    RequestClass, Requests, Retry, Scope, Watches, Work,
};
pub use metrics::{
    ClusterHealthMetrics, ClusterMetrics, ConflictMetrics, ControllerMetrics, DisruptionLimitMetrics, EventMetrics,
    LeaseMetrics, StoreMetrics, WriteMetrics,
};
pub use pause::{PauseCause, Pauses};
pub use preflight::{Examination, Need, Preflight, Verb, examine, preflight};
pub use project_key::ProjectKey;
pub use published_schemas::published_definitions;
pub use read_once::{Listed, ReadError, leave_out, read_pages};
pub use rights::{Right, Role, Rule, in_remotes, needs, roles};
pub use routing::{RouteError, Routes};
pub use single::{Single, SingleKind, State};
pub use store::{Change, CompleteStore, Completeness, CompletenessProof, Entry, Index, InvalidEntry, Partial, Store};
pub use stores::{Checkable, Contents, Feeding, Presence, Properties, ReadBy, StoreSet, Stores, Visitor};
pub use view_feed::{feed_changes, feed_hosts, feed_reservations};
pub use vm_hosts::{VmHost, changed_vms, host_of_vm, zone_of_vm};
pub use watch::{feed, feed_optional};
pub use write::{Call, Guard, Operation, StatusChange, WriteError, Writer, Written};

#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;
