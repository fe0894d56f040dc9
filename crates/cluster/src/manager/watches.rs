//! Mapping functions from changes to keys, declared beside the reconciler. They run only on the leader.

use berth_core::ClusterName;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};

use super::{Key, Requests};
use crate::{Change, Kind, Store};

/// The watches of one controller, while they are declared.
pub struct Watches<K: Key> {
    requests: Requests<K>,
    pub(super) streams: Vec<BoxStream<'static, K>>,
}

impl<K: Key> Watches<K> {
    pub(crate) fn new(requests: Requests<K>) -> Self {
        Self { requests, streams: Vec::new() }
    }

    /// A change in a store requests the keys that `map` names, after the listeners that keep state were called.
    pub fn changes<O: Kind, I: IntoIterator<Item = K>>(
        &mut self,
        store: &Store<O>,
        map: impl Fn(&Change<O>) -> I + Send + Sync + 'static,
    ) {
        let requests = self.requests.clone();
        store.on_requests(move |change| {
            if requests.is_open() {
                requests.add(map(change));
            }
        });
    }

    /// When a cluster is synced, for the first time or again, or all of its objects can be read again, the keys that
    /// `map` returns are requested: nothing else requests keys that waited for that.
    pub fn resynced<O: Kind, I: IntoIterator<Item = K>>(
        &mut self,
        store: &Store<O>,
        map: impl Fn(&ClusterName) -> I + Send + Sync + 'static,
    ) {
        let requests = self.requests.clone();
        store.on_resynced(move |cluster| {
            if requests.is_open() {
                requests.add(map(cluster));
            }
        });
    }

    /// Keys from elsewhere than a store. The stream is polled only while the controller runs.
    pub fn stream(&mut self, keys: impl Stream<Item = K> + Send + 'static) {
        self.streams.push(keys.boxed());
    }
}
