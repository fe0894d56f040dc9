//! The stores of a process as one typed set: each watched kind is one line of [`Stores`], and watching, waiting and
//! reading once go through the set.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::{
    CommitmentChange, CommittedResource, Datasource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline,
    ProjectQuota, Reservation, facts,
};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all, try_join_all};
use tokio_util::sync::CancellationToken;

use crate::{
    Cluster, ClusterMetrics, Clusters, Kind, Listed, Partial, ReadError, Right, RouteError, Routes, Store, Verb, Work,
    feed, feed_optional, indexes, kind_name, leave_out, watch_conflicts,
};

/// Where a kind must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Some cluster must serve it.
    Required,
    /// It is watched where a cluster is named for it; none need be.
    Routed,
    /// It is watched in the home cluster, as soon as it is installed there, if the configuration uses it.
    Installed,
    /// The same under any configuration.
    Optional,
}

impl Presence {
    /// Whether the kind need not be installed.
    fn is_optional(self) -> bool {
        matches!(self, Self::Installed | Self::Optional)
    }
}

/// The commands that read a kind when everything is read only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadBy {
    Scheduler,
    /// Only the controllers.
    Controllers,
    /// No command: only processes that follow it.
    Followers,
}

/// The condition under which invariants of a kind can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkable {
    Always,
    /// Its clusters must be synced; objects that cannot be read are only not checked.
    Synced,
    /// All of its objects must be readable: others would seem wrong because of those that are not.
    Complete,
}

/// The properties of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    /// The name of its watch in messages.
    pub watch: &'static str,
    /// Where it must exist.
    pub presence: Presence,
    pub read_by: ReadBy,
    /// A take-over waits until it was listed again.
    pub delays_take_over: bool,
    /// Objects of one name in several clusters are reported.
    pub has_unique_names: bool,
    /// The condition under which its invariants can be checked.
    pub checkable: Checkable,
    /// The purpose of reading it, as a sentence for the roles that allow it.
    pub why: &'static str,
}

/// Does something with every kind of a set.
pub trait Visitor {
    /// Is called once for each kind, in the order of the set.
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties);
}

/// Makes a set of stores from one line for each kind: `name: Kind { indexes: ..., watch: ..., ... }`, with the fields of
/// [`Properties`]. The order is the one in which the watches begin. Objects of a kind with `indexes: ...; reduce: ...` are
/// not kept as a whole ([`crate::Store::reduced`]), and unanswered writes of a kind with `indexes: ...; unanswered: repeat` are
/// sent again ([`crate::Store::repeating`]).
#[macro_export]
macro_rules! stores {
    ($(#[$doc:meta])* pub struct $Set:ident {
        $($(#[$field:meta])* $name:ident: $Kind:ty {
            indexes: $indexes:expr $(; reduce: $reduce:expr)? $(; unanswered: $unanswered:ident)?,
            $($property:ident: $value:expr),* $(,)?
        })*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $Set {
            $($(#[$field])* pub $name: $crate::Store<$Kind>,)*
        }

        impl Default for $Set {
            fn default() -> Self {
                Self { $($name: $crate::stores!(store $indexes $(, $reduce)? $(; $unanswered)?),)* }
            }
        }

        impl $crate::StoreSet for $Set {
            fn each(&self, visitor: &mut impl $crate::Visitor) {
                $(visitor.visit(&self.$name, &$crate::Properties { $($property: $value),* });)*
            }
        }
    };
    (store $indexes:expr) => {
        $crate::Store::new($indexes)
    };
    (store $indexes:expr; repeat) => {
        $crate::Store::repeating($indexes)
    };
    (store $indexes:expr, $reduce:expr) => {
        $crate::Store::reduced($indexes, $reduce)
    };
}

stores! {
    /// The stores of the operator. Clones share them.
    pub struct Stores {
        knowledges: Knowledge {
            indexes: &[], watch: "the watch of flavor groups", presence: Presence::Required, read_by: ReadBy::Scheduler,
            delays_take_over: true, has_unique_names: false, checkable: Checkable::Always,
            why: "The flavor groups are read.",
        }
        hypervisors: Hypervisor {
            indexes: indexes::HYPERVISOR_INDEXES, watch: "the watch of hosts", presence: Presence::Required,
            read_by: ReadBy::Scheduler, delays_take_over: true, has_unique_names: true, checkable: Checkable::Synced,
            why: "Hosts and the VMs on them are read.",
        }
        reservations: Reservation {
            indexes: indexes::RESERVATION_INDEXES; unanswered: repeat, watch: "the watch of reservations",
            presence: Presence::Required, read_by: ReadBy::Scheduler, delays_take_over: true, has_unique_names: true,
            checkable: Checkable::Complete, why: "Reservations are read, also those of others.",
        }
        commitments: CommittedResource {
            indexes: indexes::COMMITMENT_INDEXES, watch: "the watch of commitments", presence: Presence::Required,
            read_by: ReadBy::Controllers, delays_take_over: true, has_unique_names: true, checkable: Checkable::Complete,
            why: "Commitments are read.",
        }
        /// The number of cores of the groups in the zones. Without it commitments of cores wait and report that.
        capacities: FlavorGroupCapacity {
            indexes: indexes::CAPACITY_INDEXES, watch: "the watch of capacities", presence: Presence::Routed,
            read_by: ReadBy::Controllers, delays_take_over: true, has_unique_names: false, checkable: Checkable::Synced,
            why: "What there is of each flavor group in a zone is read.",
        }
        /// The change requests that are open, and those that were finished lately.
        changes: CommitmentChange {
            indexes: indexes::CHANGE_INDEXES; reduce: forget_if_finished, watch: "the watch of changes of commitments",
            presence: Presence::Required, read_by: ReadBy::Controllers, delays_take_over: true, has_unique_names: false,
            checkable: Checkable::Complete, why: "Changes of commitments are completed or undone.",
        }
        quotas: ProjectQuota {
            indexes: indexes::QUOTA_INDEXES, watch: "the watch of quotas", presence: Presence::Routed,
            read_by: ReadBy::Followers, delays_take_over: false, has_unique_names: true, checkable: Checkable::Synced,
            why: "Quotas of projects are reported.",
        }
        pipelines: Pipeline {
            indexes: &[], watch: "the watch of pipelines", presence: Presence::Installed, read_by: ReadBy::Scheduler,
            delays_take_over: false, has_unique_names: false, checkable: Checkable::Always,
            why: "Pipelines that replace those compiled in are read.",
        }
        /// They name the databases with copies of what Nova knows.
        datasources: Datasource {
            indexes: &[], watch: "the watch of datasources", presence: Presence::Optional, read_by: ReadBy::Followers,
            delays_take_over: false, has_unique_names: false, checkable: Checkable::Always,
            why: "Datasources say which database has the VMs, and when it was filled.",
        }
    }
}

/// There may be thousands of finished changes, and only an open one can still be undone.
fn forget_if_finished(change: &mut CommitmentChange) {
    if !facts::is_open(change) {
        change.forget_former_state();
    }
}

/// The dependencies of watches.
pub struct Feeding<'a> {
    pub clusters: &'a Clusters,
    pub routes: &'a Routes,
    pub metrics: &'a ClusterMetrics,
    /// Whether kinds that need not be installed are watched.
    pub watches_installed: bool,
    pub stop: &'a CancellationToken,
}

/// A set of stores.
pub trait StoreSet {
    fn each(&self, visitor: &mut impl Visitor);

    /// The watches that fill the stores, one per kind and cluster, in the order of the set. A required kind that no cluster serves
    /// is an error.
    fn feed(&self, feeding: &Feeding<'_>) -> Result<Vec<Work>, RouteError> {
        let mut feed = Feed { feeding, watches: Vec::new(), error: None };
        self.each(&mut feed);
        feed.error.map_or(Ok(feed.watches), Err)
    }

    /// Resolves when the first list of every kind that `cluster` serves is complete, besides those that need not be installed.
    fn synced(&self, cluster: &ClusterName) -> impl Future<Output = ()> + Send + use<Self> {
        let mut synced = Synced { cluster, waits: Vec::new() };
        self.each(&mut synced);
        join_all(synced.waits).map(drop)
    }

    /// Lists all kinds again and waits at most `timeout` for those that a take-over needs. Returns the clusters that
    /// have not responded.
    fn relist(&self, timeout: Duration) -> impl Future<Output = BTreeSet<ClusterName>> + Send + use<'_, Self>
    where
        Self: Sync,
    {
        let mut relist = Relist { waits: Vec::new() };
        self.each(&mut relist);
        async move {
            // Elapsed is no failure: the stores know themselves which clusters are not synced.
            let _ = tokio::time::timeout(timeout, join_all(relist.waits)).await;
            let mut late = Late { clusters: BTreeSet::new() };
            self.each(&mut late);
            late.clusters
        }
    }

    /// The kinds that `cluster` serves and that are not synced there, with the reasons.
    fn unsynced(&self, cluster: &ClusterName) -> Vec<(String, Partial)> {
        let mut unsynced = Unsynced { cluster, kinds: Vec::new() };
        self.each(&mut unsynced);
        unsynced.kinds
    }

    fn check_completeness(&self) -> Result<(), Partial> {
        let mut check = Check { partial: None };
        self.each(&mut check);
        check.partial.map_or(Ok(()), Err)
    }

    /// Reads once what `cluster` serves and `by` needs, all of it or nothing: hosts without their reservations seem free.
    fn read_once(
        &self,
        cluster: &Cluster,
        routes: &Routes,
        by: ReadBy,
    ) -> impl Future<Output = Result<Contents, ReadError>> + Send + use<Self> {
        let mut once = Once { cluster, routes, by, reads: Vec::new() };
        self.each(&mut once);
        try_join_all(once.reads)
            .map(|reads| reads.map(|fills| Contents { fills: fills.into_iter().flatten().collect() }))
    }

    /// The rights for the watches; those of optional kinds only if they are watched.
    fn rights(&self, watches_installed: bool) -> Vec<Right> {
        let mut reading = Reading { watches_installed, rights: Vec::new() };
        self.each(&mut reading);
        reading.rights
    }

    /// Marks a cluster that could not be read: nothing is decided that rests on it.
    fn leave_out(&self, cluster: &ClusterName, routes: &Routes, why: &str) {
        self.each(&mut LeaveOut { cluster, routes, why });
    }
}

/// The objects of a cluster that were read once.
#[must_use = "nothing is in the stores before it is filled"]
pub struct Contents {
    fills: Vec<Box<dyn FnOnce() + Send>>,
}

impl Contents {
    pub fn fill(self) {
        self.fills.into_iter().for_each(|fill| fill());
    }
}

struct Feed<'a> {
    feeding: &'a Feeding<'a>,
    watches: Vec<Work>,
    error: Option<RouteError>,
}

impl Feed<'_> {
    fn at_home<K: Kind>(&mut self, store: &Store<K>, properties: &Properties, serving: &[ClusterName]) {
        let Feeding { clusters, metrics, watches_installed, stop, .. } = *self.feeding;
        let is_watched = watches_installed || properties.presence == Presence::Optional;
        if is_watched && serving.contains(&ClusterName::home()) {
            let home = clusters.home().clone();
            let watch = feed_optional(store.clone(), home, stop.clone(), metrics.stores.clone());
            self.watches.push((properties.watch.into(), watch.boxed()));
        }
    }

    fn everywhere<K: Kind>(&mut self, store: &Store<K>, properties: &Properties, serving: &[ClusterName]) {
        let Feeding { clusters, metrics, stop, .. } = *self.feeding;
        for cluster in serving.iter().filter_map(|cluster| clusters.get(cluster)) {
            let watch = feed(store.clone(), cluster.clone(), stop.clone(), metrics.stores.clone());
            self.watches.push((properties.watch.into(), watch.boxed()));
        }
    }
}

impl Visitor for Feed<'_> {
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties) {
        if properties.has_unique_names {
            watch_conflicts(store, self.feeding.metrics.conflicts.clone());
        }
        match (self.feeding.routes.clusters::<K>(), properties.presence) {
            (Ok(serving), Presence::Installed | Presence::Optional) => self.at_home(store, properties, &serving),
            (Ok(serving), _) => self.everywhere(store, properties, &serving),
            (Err(error), Presence::Required) => self.error = self.error.take().or(Some(error)),
            (Err(_), _) => {}
        }
    }
}

struct Synced<'a> {
    cluster: &'a ClusterName,
    waits: Vec<BoxFuture<'static, ()>>,
}

impl Visitor for Synced<'_> {
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties) {
        if !properties.presence.is_optional() && store.clusters().contains(self.cluster) {
            let (store, cluster) = (store.clone(), self.cluster.clone());
            self.waits.push(async move { store.synced(&cluster).await }.boxed());
        }
    }
}

struct Relist {
    waits: Vec<BoxFuture<'static, ()>>,
}

impl Visitor for Relist {
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties) {
        store.relist();
        if properties.delays_take_over {
            let store = store.clone();
            self.waits.push(async move { store.wait_until_synced().await }.boxed());
        }
    }
}

struct Late {
    clusters: BTreeSet<ClusterName>,
}

impl Visitor for Late {
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties) {
        if properties.delays_take_over {
            self.clusters.extend(store.clusters().into_iter().filter(|cluster| store.require_synced(cluster).is_err()));
        }
    }
}

struct Unsynced<'a> {
    cluster: &'a ClusterName,
    kinds: Vec<(String, Partial)>,
}

impl Visitor for Unsynced<'_> {
    fn visit<K: Kind>(&mut self, store: &Store<K>, _: &Properties) {
        if store.clusters().contains(self.cluster) {
            self.kinds.extend(store.require_synced(self.cluster).err().map(|partial| (kind_name::<K>(), partial)));
        }
    }
}

struct Check {
    partial: Option<Partial>,
}

impl Visitor for Check {
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties) {
        let of = |cluster: &ClusterName| match properties.checkable {
            Checkable::Always => Ok(()),
            Checkable::Synced => store.require_synced(cluster),
            Checkable::Complete => store.require_complete(cluster).map(drop),
        };
        let found = store.clusters().iter().find_map(|cluster| of(cluster).err());
        self.partial = self.partial.take().or(found);
    }
}

/// A kind that was read and is not in its store yet; none when it need not be installed and is not.
type Read = Option<Box<dyn FnOnce() + Send>>;

struct Once<'a> {
    cluster: &'a Cluster,
    routes: &'a Routes,
    by: ReadBy,
    reads: Vec<BoxFuture<'static, Result<Read, ReadError>>>,
}

impl Visitor for Once<'_> {
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties) {
        let is_optional = properties.presence.is_optional();
        // As they are watched: outside of home they are not used.
        let is_used = !is_optional || self.cluster.name == ClusterName::home();
        if is_used && properties.read_by <= self.by && self.routes.serves::<K>(&self.cluster.name) {
            self.reads.push(read(store.clone(), self.cluster.clone(), is_optional).boxed());
        }
    }
}

async fn read<K: Kind>(store: Store<K>, cluster: Cluster, is_optional: bool) -> Result<Read, ReadError> {
    match Listed::<K>::read(&cluster).await {
        Ok(listed) => Ok(Some(Box::new(move || listed.fill(&store)))),
        Err(error) if is_optional && error.not_served => Ok(None),
        Err(error) => Err(error),
    }
}

struct Reading {
    watches_installed: bool,
    rights: Vec<Right>,
}

impl Visitor for Reading {
    fn visit<K: Kind>(&mut self, _: &Store<K>, properties: &Properties) {
        let read = Right::kind::<K>(Verb::FOLLOW).because(properties.why);
        match properties.presence {
            Presence::Installed if !self.watches_installed => {}
            Presence::Installed | Presence::Optional => self.rights.push(read.at_home().optional()),
            Presence::Required | Presence::Routed => self.rights.push(read),
        }
    }
}

struct LeaveOut<'a> {
    cluster: &'a ClusterName,
    routes: &'a Routes,
    why: &'a str,
}

impl Visitor for LeaveOut<'_> {
    fn visit<K: Kind>(&mut self, store: &Store<K>, properties: &Properties) {
        if !properties.presence.is_optional() && self.routes.serves::<K>(self.cluster) {
            leave_out(store, self.cluster, self.why);
        }
    }
}

#[cfg(test)]
mod tests;
