//! The store of one kind: each object once in memory, with indexes and listeners. It orders changes for listeners and
//! decides whether a read is complete.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::labels;
use kube::Resource;
use kube::core::ObjectMeta;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::sync::watch;

mod change;
mod complete_store;
mod completeness;
mod entries;
mod index;
mod replacing;
mod sending;
mod synced_time;
mod unanswered;

use crate::{DecodeGuard, Kind, ObjectKey, kind_name};
pub use change::{Change, Entry};
pub use complete_store::CompleteStore;
pub use completeness::{Completeness, CompletenessProof, Partial};
use entries::{Entries, ReportedObject};
pub use index::Index;
use index::Indexes;
pub(crate) use sending::Sending;
use synced_time::SyncedTime;
pub(crate) use unanswered::{RepeatableWrite, UnansweredWrite};

/// An object whose newest state does not decode.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidEntry {
    pub key: ObjectKey,
    /// Its metadata, as far as they are valid.
    pub metadata: ObjectMeta,
    /// The field that does not decode, and why.
    pub error: Arc<str>,
    /// Its newest state as the API server sent it.
    pub raw: Arc<Value>,
}

impl InvalidEntry {
    /// Whether it may be a host of `zone`: by its label, or because it has none.
    pub fn may_be_in_zone(&self, zone: &str) -> bool {
        self.raw["metadata"]["labels"][labels::ZONE].as_str().is_none_or(|label| label == zone)
    }

    /// Whether a text field of its spec may have this value: it has, or has no text.
    pub fn may_have_in_spec(&self, field: &str, value: &str) -> bool {
        self.raw["spec"][field].as_str().is_none_or(|found| found == value)
    }
}

type Listener<T> = Box<dyn Fn(&T) + Send + Sync>;

struct Listeners<K> {
    /// Listeners that keep state are called first, then those that enqueue keys, because reconciliations read that
    /// state.
    state: Vec<Listener<Change<K>>>,
    requests: Vec<Listener<Change<K>>>,
    resynced: Vec<Listener<ClusterName>>,
}

/// All objects of a kind in all clusters, as far as this process knows. Clones share it.
pub struct Store<K: 'static> {
    shared: Arc<Shared<K>>,
}

struct Shared<K: 'static> {
    /// Held while a change takes effect and listeners are called, so that all listeners get all changes in the same
    /// order.
    listeners: Mutex<Listeners<K>>,
    data: RwLock<Data<K>>,
    /// Goes up when it may have changed whether a cluster is synced or followed.
    moved: watch::Sender<u64>,
    /// Removes what is not kept of an object.
    reduce: fn(&mut K),
    /// Whether it keeps unanswered writes, to be sent again.
    repeats_writes: bool,
    /// How often a new list of everything was requested.
    relists: watch::Sender<u64>,
}

struct Data<K: 'static> {
    clusters: BTreeMap<ClusterName, Member<K>>,
    indexes: Indexes<K>,
}

/// One cluster of the store.
struct Member<K> {
    entries: Entries<K>,
    /// Why the watch does not get through at the moment.
    failing: Option<String>,
    /// How many new lists had been requested when the list under way began, and when the last complete one did.
    listing: u64,
    listed: u64,
    synced_time: SyncedTime,
    /// The API server does not know the kind, which need not be installed.
    absent: bool,
}

/// A weak reference to a store.
pub(crate) struct WeakStore<K: 'static> {
    shared: Weak<Shared<K>>,
}

impl<K> WeakStore<K> {
    pub(crate) fn upgrade(&self) -> Option<Store<K>> {
        Some(Store { shared: self.shared.upgrade()? })
    }
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K: Kind> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("kind", &kind_name::<K>()).field("len", &self.len()).finish()
    }
}

impl<K: Kind> Store<K> {
    /// An empty store with these indexes. A cluster becomes part of it when its watch is set up, see [`crate::feed`].
    pub fn new(indexes: &'static [Index<K>]) -> Self {
        Self::with(indexes, |_| (), false)
    }

    /// The same of a kind whose objects are not kept as a whole: `reduce` removes what nobody reads, to save memory.
    pub fn reduced(indexes: &'static [Index<K>], reduce: fn(&mut K)) -> Self {
        Self::with(indexes, reduce, false)
    }

    /// The same of a kind whose objects take capacity. A create, or a patch of one version, that was not answered stays in
    /// doubt until it is known that the API server cannot execute it later: [`crate::Writer::settle`] sends it again.
    pub fn repeating(indexes: &'static [Index<K>]) -> Self {
        Self::with(indexes, |_| (), true)
    }

    fn with(indexes: &'static [Index<K>], reduce: fn(&mut K), repeats_writes: bool) -> Self {
        let data = Data { clusters: BTreeMap::new(), indexes: Indexes::new(indexes) };
        let listeners = Listeners { state: Vec::new(), requests: Vec::new(), resynced: Vec::new() };
        let shared = Shared {
            listeners: Mutex::new(listeners),
            data: RwLock::new(data),
            moved: watch::Sender::new(0),
            reduce,
            repeats_writes,
            relists: watch::Sender::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The object, if there is a readable one.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.shared.data.read().get(key).cloned()
    }

    pub fn all(&self) -> Vec<Entry<K>> {
        self.shared.data.read().clusters.values().flat_map(Member::all).collect()
    }

    /// The keys of all objects, also of those that do not decode.
    pub fn keys(&self) -> Vec<ObjectKey> {
        let invalid_entry = self.invalid_entries().into_iter().map(|invalid_entry| invalid_entry.key);
        self.all().into_iter().map(|entry| entry.key).chain(invalid_entry).collect()
    }

    /// The readable objects with this value, by ascending key.
    ///
    /// An index that the store was not made with is answered by walking through all objects.
    pub fn select(&self, index: &Index<K>, value: &str) -> Vec<Entry<K>> {
        let data = self.shared.data.read();
        if let Some(keys) = data.indexes.select(index, value) {
            return keys.into_iter().filter_map(|key| data.entry(key)).collect();
        }
        let all = data.clusters.values().flat_map(Member::all);
        all.filter(|entry| index.values(&entry.object).contains(value)).collect()
    }

    /// How many readable objects of `cluster` have this value, counted up to `most`.
    pub fn count(&self, index: &Index<K>, value: &str, cluster: &ClusterName, most: usize) -> usize {
        let counted = self.shared.data.read().indexes.count(index, value, cluster, most);
        counted.unwrap_or_else(|| {
            let all = self.select(index, value).into_iter();
            all.filter(|entry| entry.key.cluster == *cluster).take(most).count()
        })
    }

    pub fn len(&self) -> usize {
        self.shared.data.read().clusters.values().map(|member| member.entries.all().count()).sum()
    }

    /// How many readable objects there are in `cluster`.
    pub(crate) fn len_of(&self, cluster: &ClusterName) -> usize {
        self.shared.data.read().clusters.get(cluster).map_or(0, |member| member.entries.all().count())
    }

    /// True if there is no readable object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Registers a listener that keeps state, for every change from now on.
    ///
    /// Listeners are called one after the other, for all changes in the order in which they take effect, on the thread that
    /// brought the change and before it goes on. All listeners that keep state are called before any that enqueues keys,
    /// whichever was registered first. A listener must not block and must not change this store; reading it is fine.
    pub fn on_state(&self, listener: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.shared.listeners.lock().state.push(Box::new(listener));
    }

    /// Registers a listener that enqueues keys; for the watches of controllers.
    pub(crate) fn on_requests(&self, listener: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.shared.listeners.lock().requests.push(Box::new(listener));
    }

    /// Registers a listener for the moments in which the store begins to follow a cluster, for the first time or again
    /// ([`Store::synced_time`]), or can read all of its objects again; for the watches of controllers.
    pub(crate) fn on_resynced(&self, listener: impl Fn(&ClusterName) + Send + Sync + 'static) {
        self.shared.listeners.lock().resynced.push(Box::new(listener));
    }

    /// Whether `cluster` serves the kind, as far as is known: false only for an optional kind
    /// ([`crate::feed_optional`]), once the API server has reported it as unknown. The store then has no objects of the
    /// cluster, and is complete.
    pub fn is_served(&self, cluster: &ClusterName) -> bool {
        self.shared.data.read().clusters.get(cluster).is_none_or(|member| !member.absent)
    }

    /// Waits until the first list of `cluster` is complete. Never, if it is not part of the store.
    pub async fn synced(&self, cluster: &ClusterName) {
        self.until(|data| data.clusters.get(cluster).is_some_and(|member| member.entries.synced())).await;
    }

    /// Requests a new, consistent list of every cluster. Until it is complete a cluster is not synced, because earlier
    /// reads prove nothing to a new leader, who must not repeat a write that it decided on in an earlier term either.
    pub fn relist(&self) {
        self.shared.data.write().clusters.values_mut().for_each(|member| member.entries.forget_unanswered());
        self.shared.relists.send_modify(|relists| *relists += 1);
        self.shared.moved.send_modify(|moved| *moved += 1);
    }

    /// Waits until every cluster is followed ([`Store::synced_time`]).
    pub async fn wait_until_synced(&self) {
        let relists = self.shared.relists.subscribe();
        self.until(|data| {
            let asked = *relists.borrow();
            data.clusters.values().all(|member| member.why_unfollowed(asked).is_none())
        })
        .await;
    }

    /// Waits until this holds of the store. It is asked again after every change.
    pub async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        let mut moved = self.shared.moved.subscribe();
        // Cannot fail: the sender lives as long as this store.
        while !holds(self) && moved.changed().await.is_ok() {}
    }

    async fn until(&self, so: impl Fn(&Data<K>) -> bool) {
        // Cannot fail: the sender lives as long as this store.
        let _ = self.shared.moved.subscribe().wait_for(|_| so(&self.shared.data.read())).await;
    }

    /// True if the outcome of a write to this object is unknown, or its existence. A decision about it reads the object first:
    /// [`crate::Writer::settle`].
    pub fn in_doubt(&self, key: &ObjectKey) -> bool {
        self.shared.data.read().clusters.get(&key.cluster).is_some_and(|member| member.entries.in_doubt(&key.name))
    }

    /// Calls `then` unless the object is in doubt. All listeners know by then what has ended the doubt, and it does not begin again
    /// until `then` returns. Not to be called by a listener, which would wait for itself; `then` must not change this store.
    pub fn when_settled(&self, key: &ObjectKey, then: impl FnOnce()) {
        let _listeners = self.shared.listeners.lock();
        if !self.in_doubt(key) {
            then();
        }
    }

    /// The keys in doubt, ascending. Not all of them have an object here: an unanswered create has none.
    pub fn doubts(&self) -> Vec<ObjectKey> {
        let data = self.shared.data.read();
        let keys = |(cluster, member): (&ClusterName, &Member<K>)| {
            let key = |name: &Arc<str>| ObjectKey::new(cluster.clone(), name.clone());
            member.entries.doubts().map(key).collect::<Vec<_>>()
        };
        data.clusters.iter().flat_map(keys).collect()
    }

    /// The objects whose newest state does not decode, by ascending key.
    pub fn invalid_entries(&self) -> Vec<InvalidEntry> {
        let data = self.shared.data.read();
        let invalid = |(cluster, member): (&ClusterName, &Member<K>)| {
            let invalid_entry = |(name, invalid): (&Arc<str>, &Arc<crate::decode_guard::InvalidObject>)| InvalidEntry {
                key: ObjectKey::new(cluster.clone(), name.clone()),
                metadata: invalid.metadata.clone(),
                error: invalid.error.clone(),
                raw: invalid.raw.clone(),
            };
            member.entries.invalid().map(invalid_entry).collect::<Vec<_>>()
        };
        data.clusters.iter().flat_map(invalid).collect()
    }

    /// The object, if its newest state does not decode.
    pub fn invalid_entry(&self, key: &ObjectKey) -> Option<InvalidEntry> {
        self.invalid_entries().into_iter().find(|one| one.key == *key)
    }

    pub fn clusters(&self) -> Vec<ClusterName> {
        self.shared.data.read().clusters.keys().cloned().collect()
    }

    /// The objects of the same name in other clusters, readable or not, by cluster.
    pub fn keys_in_other_clusters(&self, key: &ObjectKey) -> Vec<ObjectKey> {
        let mut all = self.holders(&key.name);
        all.retain(|other| other.cluster != key.cluster);
        all
    }

    /// The objects of this name in all clusters, readable or not, by cluster.
    pub fn holders(&self, name: &Arc<str>) -> Vec<ObjectKey> {
        let data = self.shared.data.read();
        let holding = data.clusters.iter().filter(|(_, member)| member.entries.has(name));
        holding.map(|(cluster, _)| ObjectKey::new(cluster.clone(), name.clone())).collect()
    }

    /// For listeners of this store that read it.
    pub(crate) fn downgrade(&self) -> WeakStore<K> {
        WeakStore { shared: Arc::downgrade(&self.shared) }
    }

    // ---- the write side

    pub(crate) fn repeats_writes(&self) -> bool {
        self.shared.repeats_writes
    }

    /// The write of the object that was not answered and may still take effect.
    pub(crate) fn unanswered(&self, key: &ObjectKey) -> Option<Arc<UnansweredWrite<K>>> {
        self.shared.data.read().clusters.get(&key.cluster)?.entries.unanswered(&key.name).cloned()
    }

    /// Makes `cluster` part of the store, not yet synced.
    pub(crate) fn join(&self, cluster: &ClusterName) {
        self.change(cluster, |_| Vec::new());
    }

    pub(crate) fn init(&self, cluster: &ClusterName) {
        let asked = self.asked();
        self.change(cluster, |member| {
            member.absent = false;
            member.listing = asked;
            member.entries.init();
            Vec::new()
        });
    }

    pub(crate) fn listed(&self, cluster: &ClusterName, object: DecodeGuard<K>) {
        let object = self.reduce(object);
        self.change(cluster, |member| {
            let report = report(object);
            member.entries.listed(report)
        });
    }

    /// Whether the list under way, taken at `version`, lacks a change before that version which we have seen: etcd was
    /// restored with its revisions raised (`--bump-revision`).
    pub(crate) fn is_list_of_another_past(&self, cluster: &ClusterName, version: u64) -> bool {
        let data = self.shared.data.read();
        data.clusters.get(cluster).is_some_and(|member| member.entries.lists_another_past(version))
    }

    pub(crate) fn init_done(&self, cluster: &ClusterName) {
        self.change(cluster, |member| {
            member.listed = member.listing;
            member.entries.init_done()
        });
    }

    /// Notifies the watch that a new list is requested.
    pub(crate) fn relists(&self) -> watch::Receiver<u64> {
        self.shared.relists.subscribe()
    }

    fn asked(&self) -> u64 {
        *self.shared.relists.borrow()
    }

    pub(crate) fn applied(&self, cluster: &ClusterName, object: DecodeGuard<K>) {
        let object = self.reduce(object);
        self.change(cluster, |member| {
            let report = report(object);
            member.entries.applied(report)
        });
    }

    pub(crate) fn deleted(&self, cluster: &ClusterName, object: DecodeGuard<K>) {
        self.change(cluster, |member| {
            let report = report(object);
            member.entries.deleted(&report)
        });
    }

    /// The newest version that the watch of `cluster` or an answer to an own call has shown.
    pub(crate) fn newest(&self, cluster: &ClusterName) -> u64 {
        self.shared.data.read().clusters.get(cluster).map_or(0, |member| member.entries.highest())
    }

    /// The API server has lost its past: these are all objects of `cluster`, however old they seem.
    pub(crate) fn replace(&self, cluster: &ClusterName, objects: Vec<DecodeGuard<K>>) {
        let objects = objects.into_iter().map(|object| self.reduce(object)).collect();
        self.change(cluster, |member| member.replace(objects));
    }

    fn reduce(&self, object: DecodeGuard<K>) -> DecodeGuard<K> {
        match object {
            DecodeGuard::Valid(mut object) => {
                (self.shared.reduce)(&mut object);
                DecodeGuard::Valid(object)
            }
            invalid @ DecodeGuard::Invalid(_) => invalid,
        }
    }

    /// The API server of `cluster` does not know the kind: there are no objects, and no writes that could be in doubt.
    pub(crate) fn not_served(&self, cluster: &ClusterName) {
        self.change(cluster, |member| {
            member.absent = true;
            member.failing = None;
            member.replace(Vec::new())
        });
    }

    /// The watch of `cluster` does not get through, or does again.
    pub(crate) fn failing(&self, cluster: &ClusterName, why: Option<String>) {
        self.change(cluster, |member| {
            member.failing = why;
            Vec::new()
        });
    }

    /// How long `cluster` has been followed in all.
    fn synced_time(&self, cluster: &ClusterName) -> Duration {
        self.shared.data.read().clusters.get(cluster).map(|member| member.synced_time.time()).unwrap_or_default()
    }

    fn is_synced(&self, cluster: &ClusterName) -> bool {
        let asked = self.asked();
        self.shared.data.read().clusters.get(cluster).is_some_and(|member| member.why_unfollowed(asked).is_none())
    }

    fn is_complete(&self, cluster: &ClusterName) -> bool {
        let asked = self.asked();
        let complete =
            |member: &Member<K>| member.why_unfollowed(asked).is_none() && member.entries.invalid().next().is_none();
        self.shared.data.read().clusters.get(cluster).is_some_and(complete)
    }

    fn change(&self, cluster: &ClusterName, f: impl FnOnce(&mut Member<K>) -> Vec<Change<K>>) {
        let listeners = self.shared.listeners.lock();
        let (before, was_complete) = (self.is_synced(cluster), self.is_complete(cluster));
        let changes = self.shared.data.write().change(cluster, f);
        for change in &changes {
            listeners.state.iter().chain(&listeners.requests).for_each(|listener| listener(change));
        }
        let after = self.is_synced(cluster);
        if before != after
            && let Some(member) = self.shared.data.write().clusters.get_mut(cluster)
        {
            member.synced_time.is(after);
        }
        if (!before && after) || (!was_complete && self.is_complete(cluster)) {
            listeners.resynced.iter().for_each(|listener| listener(cluster));
        }
        self.shared.moved.send_modify(|moved| *moved += 1);
    }
}

impl<K> Data<K> {
    fn get(&self, key: &ObjectKey) -> Option<&Arc<K>> {
        self.clusters.get(&key.cluster)?.entries.get(&key.name)
    }

    fn entry(&self, key: ObjectKey) -> Option<Entry<K>> {
        let object = self.get(&key)?.clone();
        Some(Entry { key, object })
    }

    fn change(&mut self, cluster: &ClusterName, f: impl FnOnce(&mut Member<K>) -> Vec<Change<K>>) -> Vec<Change<K>> {
        let member = self.clusters.entry(cluster.clone()).or_insert_with(|| Member::new(cluster.clone()));
        let changes = f(member);
        for change in &changes {
            self.indexes.follow(change);
        }
        changes
    }
}

impl<K> Member<K> {
    fn new(cluster: ClusterName) -> Self {
        Self {
            entries: Entries::new(cluster),
            failing: None,
            listing: 0,
            listed: 0,
            synced_time: SyncedTime::default(),
            absent: false,
        }
    }

    fn all(&self) -> impl Iterator<Item = Entry<K>> {
        let entry = |(name, object): (&Arc<str>, &Arc<K>)| Entry {
            key: ObjectKey::new(self.entries.cluster().clone(), name.clone()),
            object: object.clone(),
        };
        self.entries.all().map(entry)
    }

    /// `asked` is how many fresh reads were asked for.
    fn why_unfollowed(&self, asked: u64) -> Option<String> {
        if let Some(why) = &self.failing {
            return Some(format!("its watch fails: {why}"));
        }
        if self.absent {
            return None;
        }
        if !self.entries.synced() {
            return Some("its first list is not complete yet".to_owned());
        }
        (self.listed < asked).then(|| "it is read anew after a change of the leader".to_owned())
    }

    fn why_partial(&self, asked: u64) -> Option<String> {
        if let Some(why) = self.why_unfollowed(asked) {
            return Some(why);
        }
        let first = self.entries.invalid().next()?;
        let more = self.entries.invalid().count() - 1;
        let others = if more == 0 { String::new() } else { format!(" and {more} more") };
        Some(format!("{}{others} cannot be read: {}", first.0, first.1.error))
    }
}

fn report<K: Kind>(object: DecodeGuard<K>) -> ReportedObject<K> {
    let meta = object.meta();
    ReportedObject {
        name: meta.name.as_deref().unwrap_or_default().into(),
        uid: meta.uid.as_deref().unwrap_or_default().into(),
        version: meta.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default(),
        content: match object {
            DecodeGuard::Valid(object) => Ok(Arc::new(object)),
            DecodeGuard::Invalid(invalid) => Err(Arc::new(*invalid)),
        },
    }
}

#[cfg(test)]
mod tests;
