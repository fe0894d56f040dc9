//! The objects of all kinds as JSON, and their history. `write` decides on writes, `read` answers lists; `service`
//! routes the requests.

mod read;
mod write;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use berth_telemetry::clock::Clock;
use bytes::Bytes;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::kinds::KindInfo;
use crate::refusal::Refusal;
pub(crate) use read::{Page, Wanted};
pub(crate) use write::{Change, Endpoint, Mode, Preconditions};

/// The default minimum of kept events.
const KEPT: usize = 20_000;

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    Applied,
    Deleted,
}

/// A version of an object, and its text once it was needed.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) value: Arc<Value>,
    text: Arc<OnceLock<Bytes>>,
}

impl Object {
    fn new(value: Value) -> Self {
        Self { value: Arc::new(value), text: Arc::default() }
    }

    pub(crate) fn text(&self) -> Bytes {
        self.text.get_or_init(|| serde_json::to_vec(&*self.value).unwrap_or_default().into()).clone()
    }
}

/// One entry of the history.
#[derive(Clone, Debug)]
pub struct Event {
    pub version: u64,
    pub kind: String,
    pub happened: Happened,
    pub object: Arc<Value>,
    /// The previous object, unless it is new.
    pub previous: Option<Arc<Value>>,
    pub(crate) key: String,
    pub(crate) after: Object,
    pub(crate) before: Option<Object>,
    pub(crate) at: Instant,
}

/// The objects of one kind.
struct ObjectsOfKind {
    kind: Arc<KindInfo>,
    objects: BTreeMap<String, Object>,
    /// How often the kind was installed before: watches end with an installation.
    era: u64,
}

/// A watch that waits.
struct Sleeper {
    kind: String,
    waker: Waker,
}

/// The callback after each write.
pub(crate) type OnWrite = Box<dyn Fn(&Snapshot<'_>, &Event) + Send>;

pub(crate) struct Objects {
    shelves: BTreeMap<String, ObjectsOfKind>,
    history: VecDeque<Event>,
    kept: usize,
    version: u64,
    forgotten: u64,
    made: u64,
    eras: u64,
    clock: Arc<dyn Clock>,
    sleepers: BTreeMap<u64, Sleeper>,
    pub(crate) on_write: Vec<OnWrite>,
}

/// The state of the server between two writes.
pub struct Snapshot<'a> {
    objects: &'a Objects,
}

impl Snapshot<'_> {
    pub fn version(&self) -> u64 {
        self.objects.version
    }

    /// The object of a kind, identified by its path, with this name or `namespace/name`.
    pub fn get(&self, kind: &str, key: &str) -> Option<&Arc<Value>> {
        self.objects.shelves.get(kind)?.objects.get(key).map(|object| &object.value)
    }

    /// All objects of a kind, identified by its path, by name.
    pub fn all(&self, kind: &str) -> impl Iterator<Item = &Arc<Value>> {
        let stock = self.objects.shelves.get(kind);
        stock.into_iter().flat_map(|stock| stock.objects.values()).map(|object| &object.value)
    }
}

impl Objects {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            shelves: BTreeMap::new(),
            history: VecDeque::new(),
            kept: KEPT,
            version: 0,
            forgotten: 0,
            made: 0,
            eras: 0,
            clock,
            sleepers: BTreeMap::new(),
            on_write: Vec::new(),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot { objects: self }
    }

    pub(crate) fn everything(&self, path: &str) -> impl Iterator<Item = &Object> {
        self.shelves.get(path).into_iter().flat_map(|stock| stock.objects.values())
    }

    // ---- kinds

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<KindInfo>> {
        self.shelves.values().map(|stock| &stock.kind)
    }

    pub(crate) fn kind(&self, path: &str) -> Result<&Arc<KindInfo>, Refusal> {
        self.stock(path).map(|stock| &stock.kind)
    }

    fn stock(&self, path: &str) -> Result<&ObjectsOfKind, Refusal> {
        self.shelves.get(path).ok_or_else(Refusal::page_not_found)
    }

    /// Serves a kind without objects; does nothing if it is served already.
    pub(crate) fn install(&mut self, kind: &Arc<KindInfo>) {
        self.eras += 1;
        let stock = ObjectsOfKind { kind: kind.clone(), objects: BTreeMap::new(), era: self.eras };
        self.shelves.entry(kind.path.clone()).or_insert(stock);
    }

    /// Deletes all objects of a kind, regardless of finalizers, and stops serving it. Watches end.
    pub(crate) fn uninstall(&mut self, path: &str) {
        let keys: Vec<String> =
            self.shelves.get(path).into_iter().flat_map(|stock| stock.objects.keys().cloned()).collect();
        for key in keys {
            self.remove(path, &key);
        }
        self.shelves.remove(path);
        self.notify_watches(path);
    }

    /// The number of the installation of a kind; `None` if it is not served.
    pub(crate) fn era(&self, path: &str) -> Option<u64> {
        self.shelves.get(path).map(|stock| stock.era)
    }

    // ---- history

    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &Event> {
        let from = self.history.partition_point(|event| event.version <= version);
        self.history.range(from..)
    }

    /// Whether the history after this version is incomplete.
    pub(crate) fn has_forgotten(&self, version: u64) -> bool {
        version < self.forgotten
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.forgotten
    }

    pub(crate) fn keep(&mut self, events: usize) {
        self.kept = events;
        self.trim(events);
    }

    pub(crate) fn trim(&mut self, events: usize) {
        while self.history.len() > events {
            if let Some(event) = self.history.pop_front() {
                self.forgotten = event.version;
            }
        }
    }

    // ---- watches

    /// Notifies a watch after the next event of a kind.
    pub(crate) fn sleep(&mut self, watch: u64, kind: &str, waker: &Waker) {
        if let Some(sleeper) = self.sleepers.get_mut(&watch) {
            sleeper.waker.clone_from(waker);
        } else {
            let sleeper = Sleeper { kind: kind.to_owned(), waker: waker.clone() };
            self.sleepers.insert(watch, sleeper);
        }
    }

    pub(crate) fn forget_watch(&mut self, watch: u64) {
        self.sleepers.remove(&watch);
    }

    /// Notifies all watches of kinds whose path has this prefix.
    pub(crate) fn notify_watches(&self, kind: &str) {
        self.sleepers
            .values()
            .filter(|sleeper| sleeper.kind.starts_with(kind))
            .for_each(|sleeper| sleeper.waker.wake_by_ref());
    }

    // ---- the common part of all changes

    fn put(&mut self, kind: &str, key: &str, value: Value) -> Object {
        let (value, version) = self.stamped(value);
        let object = Object::new(value);
        let before = self.shelves.get_mut(kind).and_then(|stock| stock.objects.insert(key.to_owned(), object.clone()));
        self.happened(kind, key, version, Happened::Applied, object.clone(), before);
        object
    }

    fn remove(&mut self, kind: &str, key: &str) {
        let Some(before) = self.shelves.get_mut(kind).and_then(|stock| stock.objects.remove(key)) else { return };
        let (value, version) = self.stamped(Value::clone(&before.value));
        self.happened(kind, key, version, Happened::Deleted, Object::new(value), Some(before));
    }

    fn stamped(&mut self, mut value: Value) -> (Value, u64) {
        self.version += 1;
        value["metadata"]["resourceVersion"] = json!(self.version.to_string());
        (value, self.version)
    }

    fn happened(
        &mut self,
        kind: &str,
        key: &str,
        version: u64,
        happened: Happened,
        after: Object,
        before: Option<Object>,
    ) {
        let event = Event {
            version,
            kind: kind.to_owned(),
            happened,
            object: after.value.clone(),
            previous: before.as_ref().map(|before| before.value.clone()),
            key: key.to_owned(),
            after,
            before,
            at: Instant::now(),
        };
        if !self.on_write.is_empty() {
            self.on_write.iter().for_each(|hook| hook(&self.snapshot(), &event));
        }
        self.history.push_back(event);
        self.trim(self.kept);
        self.notify_watches(kind);
    }

    fn now(&self) -> String {
        let now = self.clock.now();
        // Like the real server: fractions of a second are cut off, not rounded.
        let whole = Timestamp::from_second(now.as_second()).or_else(|_| now.round(Unit::Second)).unwrap_or(now);
        whole.to_string()
    }

    fn next_number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}

#[cfg(test)]
mod tests;
