//! The double of kube-apiserver: a tower service under the real client of `kube`, with all its objects in memory, on
//! tokio's clock. `docs/testing.md` lists the behaviours that are checked on it and on a real API server.
//!
//! It does not support server-side apply and strategic merge (it refuses them), managed fields, conversion between
//! versions, namespaces as objects, garbage collection, admission beyond the rules of our CRDs, and streaming lists.
//! Leases, Events and `ConfigMaps` are served as far as we use them. Tests of these features use a real API server.

mod faulty;
mod service;
mod user_actions;
mod verbs;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Cluster, Kind};
use berth_core::ClusterName;
use berth_telemetry::clock::Clock;
use kube::Client;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;
use tower::service_fn;

use crate::discovery::Denied;
use crate::faults::Rules;
use crate::kinds;
use crate::log::{Effects, Log, Write};
use crate::objects::{Event, Objects, Snapshot};
use crate::random::Random;
use crate::stop::Stop;
use crate::watch::Open;

/// The default name of the client.
pub const DEFAULT_CLIENT: &str = "berth";

/// The path of an object, or, with an empty name, the prefix of the paths of all objects of its kind.
pub fn path_of<K: Kind>(name: &str) -> String {
    format!("{}/{name}", K::url_path(&(), None))
}

/// An API server in memory. Clones share the server.
#[derive(Clone)]
pub struct Server {
    state: Arc<Mutex<State>>,
    stopped: Arc<Notify>,
    started: Instant,
}

/// The latencies of requests.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    before: RangeInclusive<Duration>,
    after: RangeInclusive<Duration>,
}

pub(crate) struct State {
    pub(crate) objects: Objects,
    rules: Rules<Server>,
    random: Random,
    latency: Option<Latency>,
    lateness: Option<RangeInclusive<Duration>>,
    away: bool,
    stops: Vec<Stop>,
    denied: BTreeSet<Denied>,
    log: Log,
    counts: BTreeMap<&'static str, u64>,
    pub(crate) open: BTreeMap<u64, Open>,
    watches: u64,
}

impl State {
    /// Whether this client gets no more answers.
    pub(crate) fn is_silent(&self, who: &str) -> bool {
        self.stops.iter().any(|stop| stop.silences(who))
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

impl Server {
    /// A server without objects that serves all our kinds, Leases, Events and `ConfigMaps`, and takes timestamps from `clock`.
    ///
    /// # Panics
    ///
    /// If a CRD of ours has something that the double does not support; a test of this crate finds that first.
    #[expect(clippy::expect_used, reason = "our CRDs are constant, and a test compiles them")]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let mut objects = Objects::new(clock);
        let kinds = kinds::all().expect("the double supports our CRDs");
        for kind in kinds {
            objects.install(kind);
        }
        let state = State {
            objects,
            rules: Rules::default(),
            random: Random::new(0),
            latency: None,
            lateness: None,
            away: false,
            stops: Vec::new(),
            denied: BTreeSet::new(),
            log: Log::default(),
            counts: BTreeMap::new(),
            open: BTreeMap::new(),
            watches: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), stopped: Arc::default(), started: Instant::now() }
    }

    /// The cluster `home` with this API server. Must be called inside of a tokio runtime.
    pub fn cluster(&self) -> Cluster {
        self.cluster_as(ClusterName::home(), DEFAULT_CLIENT)
    }

    /// A cluster of this name with this API server, as this client sees it.
    pub fn cluster_as(&self, name: ClusterName, who: &str) -> Cluster {
        Cluster { name, client: self.client_as(who) }
    }

    /// A client with a name, which identifies it in the log, in rules of faults, and for its rights.
    pub fn client_as(&self, who: &str) -> Client {
        let (server, who): (Self, Arc<str>) = (self.clone(), who.into());
        let service = service_fn(move |request| server.clone().serve(who.clone(), request));
        Client::new(service, "default")
    }

    // ---- the log of calls

    pub fn log(&self) -> Vec<Write> {
        self.lock().log.writes()
    }

    /// The writes since the last call of this function, in short.
    pub fn take_log(&self) -> Vec<String> {
        self.lock().log.take()
    }

    /// All calls so far, one line for each: its number, time, client, verb and path, outcome, and for writes whether it
    /// changed anything and its body. Two equal runs give equal lines.
    pub fn calls(&self) -> Vec<String> {
        self.lock().log.lines()
    }

    /// The number of successful writes that changed nothing.
    pub fn no_op_writes(&self) -> usize {
        self.lock().log.no_ops()
    }

    /// The totals of writes so far, without those of Leases.
    pub fn effects(&self) -> Effects {
        self.lock().log.effects()
    }

    pub fn version(&self) -> u64 {
        self.lock().objects.version()
    }

    /// The events after a resourceVersion, as far as they are kept.
    pub fn since(&self, version: u64) -> Vec<Event> {
        self.lock().objects.since(version).cloned().collect()
    }

    /// Registers a hook that runs after every write with a change, with the new state and the event. It must not call
    /// the server.
    pub fn on_write(&self, hook: impl Fn(&Snapshot<'_>, &Event) + Send + 'static) {
        self.lock().objects.on_write.push(Box::new(hook));
    }

    /// Reads the current state without copying it. `read` must not call the server.
    pub fn with_snapshot<T>(&self, read: impl FnOnce(&Snapshot<'_>) -> T) -> T {
        read(&self.lock().objects.snapshot())
    }

    // ---- history and kinds

    /// Deletes the history: watches and lists of older versions are answered with 410.
    pub fn compact(&self) {
        let mut state = self.lock();
        state.objects.trim(0);
        state.objects.notify_watches("");
    }

    /// Limits the kept events; the default is 20,000.
    pub fn keep_history(&self, events: usize) {
        self.lock().objects.keep(events);
    }

    /// Stops serving a kind and deletes all its objects; watches end.
    pub fn remove_kind<K: Kind>(&self) {
        self.lock().objects.uninstall(&K::url_path(&(), None));
    }

    /// Serves a removed or optional kind of ours, without objects. False if there is no such kind.
    pub fn install_kind<K: Kind>(&self) -> bool {
        let path = K::url_path(&(), None);
        let all = kinds::all().ok().into_iter().flatten().cloned().chain(kinds::optional().unwrap_or_default());
        let kind = all.into_iter().find(|kind| kind.path == path);
        kind.inspect(|kind| self.lock().objects.install(kind)).is_some()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests;
