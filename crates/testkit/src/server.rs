//! The double of kube-apiserver: a tower service under the real client of `kube`, with all its objects in memory, on
//! tokio's clock. `docs/testing.md` lists the behaviours that are checked on it and on a real API server.
//!
//! What it does not do: server-side apply and strategic merge (it refuses them), managed fields, conversion between
//! versions, namespaces as objects, garbage collection, admission beyond the rules of our CRDs, and streaming lists.
//! Leases and Events are served as far as we use them. For all of these tests use a real API server.

mod faulty;
mod people;
mod service;
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

/// Who calls when nothing else is said.
pub const SOMEBODY: &str = "berth";

/// The path of an object, or, with an empty name, the beginning of the paths of all objects of its kind.
pub fn path_of<K: Kind>(name: &str) -> String {
    format!("{}/{name}", K::url_path(&(), None))
}

/// An API server in memory. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    state: Arc<Mutex<State>>,
    stopped: Arc<Notify>,
    started: Instant,
}

/// Time that requests take.
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
    /// True if nothing is answered to this client any more.
    pub(crate) fn is_silent(&self, who: &str) -> bool {
        self.stops.iter().any(|stop| stop.silences(who))
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

impl Server {
    /// A server without objects that serves all our kinds, Leases and Events, and whose timestamps are those of `clock`.
    ///
    /// # Panics
    ///
    /// If a CRD of ours says something that the double does not understand; a test of this crate comes before that.
    #[expect(clippy::expect_used, reason = "our CRDs are constant, and a test compiles them")]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let mut objects = Objects::new(clock);
        let kinds = kinds::all().expect("the double understands our CRDs");
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

    /// The cluster `home`, whose API server this is. To be called inside of a tokio runtime.
    pub fn cluster(&self) -> Cluster {
        self.cluster_as(ClusterName::home(), SOMEBODY)
    }

    /// A cluster of this name, whose API server this is, as a certain client sees it.
    pub fn cluster_as(&self, name: ClusterName, who: &str) -> Cluster {
        Cluster { name, client: self.client_as(who) }
    }

    /// A client that is known by a name: in the log, to rules of faults, and for its rights.
    pub fn client_as(&self, who: &str) -> Client {
        let (server, who): (Self, Arc<str>) = (self.clone(), who.into());
        let service = service_fn(move |request| server.clone().serve(who.clone(), request));
        Client::new(service, "default")
    }

    // ---- what was asked for

    /// All writes so far, as they came.
    pub fn log(&self) -> Vec<Write> {
        self.lock().log.writes()
    }

    /// The same in short, and forgotten: what was written since the last call.
    pub fn take_log(&self) -> Vec<String> {
        self.lock().log.take()
    }

    /// All calls so far, one line for each: its number, when it came, from whom, what it asked for, what became of it,
    /// and for writes whether it changed anything and what was sent. Two equal runs give equal lines.
    pub fn calls(&self) -> Vec<String> {
        self.lock().log.lines()
    }

    /// How many writes were taken and changed nothing.
    pub fn no_op_writes(&self) -> usize {
        self.lock().log.no_ops()
    }

    /// What writes came to so far, without those of Leases.
    pub fn effects(&self) -> Effects {
        self.lock().log.effects()
    }

    /// The newest resourceVersion.
    pub fn version(&self) -> u64 {
        self.lock().objects.version()
    }

    /// What happened after a resourceVersion, as far as it is kept.
    pub fn since(&self, version: u64) -> Vec<Event> {
        self.lock().objects.since(version).cloned().collect()
    }

    /// After every write that changed something this is called, with the state after it and what happened. It must not
    /// call the server.
    pub fn on_write(&self, hook: impl Fn(&Snapshot<'_>, &Event) + Send + 'static) {
        self.lock().objects.on_write.push(Box::new(hook));
    }

    /// Looks at the present state without copying it. `look` must not call the server.
    pub fn look<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> T {
        look(&self.lock().objects.snapshot())
    }

    // ---- history and kinds

    /// Forgets what happened: watches and lists of older versions are answered with 410.
    pub fn compact(&self) {
        let mut state = self.lock();
        state.objects.trim(0);
        state.objects.wake("");
    }

    /// Keeps so many events; 20,000 when nothing is said.
    pub fn keep_history(&self, events: usize) {
        self.lock().objects.keep(events);
    }

    /// A kind is not served any more and all its objects are gone; watches end.
    pub fn remove_kind<K: Kind>(&self) {
        self.lock().objects.uninstall(&K::url_path(&(), None));
    }

    /// A kind of ours that was removed, or that no server begins with, is served, without objects. False if there is no
    /// such kind.
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
