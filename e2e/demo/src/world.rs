//! The objects of the clusters, read by watches: commitments, their changes and slots, and the time of the last event.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use berth_crds::{CommitmentChange, CommittedResource, Reservation};
use futures::{StreamExt, future};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{self, Store};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::snapshot::Snapshot;

/// Commitments and slots of all clusters; the watches end when this value is dropped.
pub struct World {
    commitments: Vec<Store<CommittedResource>>,
    slots: Vec<Store<Reservation>>,
    /// Requests of Limes, which are all at home.
    changes: Vec<Store<CommitmentChange>>,
    last_change: watch::Receiver<Instant>,
    _watches: JoinSet<()>,
}

impl World {
    /// `clients` begins with the one of home.
    pub fn follow(clients: &[Client]) -> Self {
        let (change, last_change) = watch::channel(Instant::now());
        let change = Arc::new(change);
        let mut watches = JoinSet::new();
        let (mut commitments, mut slots, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for client in clients {
            let (store, writer) = reflector::store();
            watches.spawn(follow(Api::all(client.clone()), writer, change.clone()));
            commitments.push(store);
            let (store, writer) = reflector::store();
            watches.spawn(follow(Api::all(client.clone()), writer, change.clone()));
            slots.push(store);
        }
        for home in clients.iter().take(1) {
            let (store, writer) = reflector::store();
            watches.spawn(follow(Api::all(home.clone()), writer, change.clone()));
            changes.push(store);
        }
        Self { commitments, slots, changes, last_change, _watches: watches }
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot { commitments: sorted(&self.commitments), slots: sorted(&self.slots), changes: sorted(&self.changes) }
    }

    pub fn quiet_for(&self) -> Duration {
        self.last_change.borrow().elapsed()
    }

    pub async fn changed(&mut self) {
        if self.last_change.changed().await.is_err() {
            // The watches have ended, which happens only together with this value.
            future::pending::<()>().await;
        }
    }
}

/// A user watches the screen: a restarted API server must show at once.
struct Often;

impl Iterator for Often {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(200))
    }
}

impl Backoff for Often {
    fn reset(&mut self) {}
}

async fn follow<K>(api: Api<K>, writer: Writer<K>, change: Arc<watch::Sender<Instant>>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    // Errors are temporary: the watch restarts, and another check tells whether the API server still runs.
    let events = watcher(api, watcher::Config::default()).backoff(Often).reflect(writer);
    let note = |event: watcher::Result<_>| {
        if event.is_ok() {
            change.send_replace(Instant::now());
        }
        future::ready(())
    };
    events.for_each(note).await;
}

fn sorted<K: Resource<DynamicType = ()> + Clone>(stores: &[Store<K>]) -> Vec<Arc<K>> {
    let mut objects: Vec<_> = stores.iter().flat_map(Store::state).collect();
    objects.sort_by_key(|object| object.name_any());
    objects
}
