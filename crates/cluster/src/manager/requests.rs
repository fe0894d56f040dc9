//! The keys that are requested: each once, by class and then in the order of the requests, so their number is bounded by
//! the number of objects. A replica that does not lead collects nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::key::Key;
use super::key_state::{KeyState, KeyStates};

/// Collects the requests of one controller. Clones share them.
///
/// Its lock is the last one in the order of locks: nothing is called while it is held.
#[derive(Debug)]
pub struct Requests<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    waiting: Mutex<Waiting<K>>,
    classify: OnceLock<Classify<K>>,
    states: KeyStates<K>,
    some: Notify,
    is_open: AtomicBool,
}

#[derive(Debug)]
struct Waiting<K> {
    next: u64,
    by_place: BTreeMap<RequestPosition, K>,
    by_key: BTreeMap<K, RequestPosition>,
}

type Classify<K> = Box<dyn Fn(&K) -> RequestClass + Send + Sync>;

/// Which requests come first. Work that was decided on is finished before new work begins, and that before work that is
/// only tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestClass {
    Finish,
    #[default]
    New,
    Retry,
}

/// The position of a request: its class, and then its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RequestPosition {
    class: RequestClass,
    number: u64,
}

impl<K> Clone for Requests<K> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K: Key> Requests<K> {
    /// Collects nothing before [`Requests::open`], which the manager calls when the controller begins to run.
    pub fn closed() -> Self {
        let waiting = Waiting { next: 0, by_place: BTreeMap::new(), by_key: BTreeMap::new() };
        let (waiting, is_open) = (Mutex::new(waiting), AtomicBool::new(false));
        let (classify, states, some) = (OnceLock::new(), KeyStates::default(), Notify::new());
        Self { shared: Arc::new(Shared { waiting, classify, states, some, is_open }) }
    }

    /// Sets the class of each key, once; without it all have the same. It is called without any lock of the requests.
    pub(super) fn classify_by(&self, classify: impl Fn(&K) -> RequestClass + Send + Sync + 'static) {
        // The first controller that is added with these requests decides.
        _ = self.shared.classify.set(Box::new(classify));
    }

    fn class_of(&self, key: &K) -> RequestClass {
        self.shared.classify.get().map_or_else(RequestClass::default, |classify| classify(key))
    }

    /// From now on requests are collected. Opening also requests all keys.
    pub(crate) fn open(&self) {
        self.shared.is_open.store(true, Ordering::SeqCst);
    }

    pub fn is_open(&self) -> bool {
        self.shared.is_open.load(Ordering::SeqCst)
    }

    /// Enqueues these keys. Cheap, never blocks; two requests before the reconciliation are one.
    pub fn add(&self, keys: impl IntoIterator<Item = K>) {
        if !self.is_open() {
            return;
        }
        let keys: Vec<_> = keys.into_iter().map(|key| (self.class_of(&key), key)).collect();
        let mut waiting = self.shared.waiting.lock();
        let before = waiting.by_key.len();
        for (class, key) in keys {
            waiting.enter(key, class);
        }
        let has_grown = waiting.by_key.len() > before;
        drop(waiting);
        if has_grown {
            self.shared.some.notify_one();
        }
    }

    /// What the controller does with a key at the moment, for users.
    pub fn state(&self, key: &K) -> KeyState {
        let is_requested = self.shared.waiting.lock().by_key.contains_key(key);
        self.shared.states.state(key, is_requested)
    }

    pub(super) fn states(&self) -> &KeyStates<K> {
        &self.shared.states
    }

    pub fn len(&self) -> usize {
        self.shared.waiting.lock().by_key.len()
    }

    /// True if no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first key that is not busy.
    pub(super) fn take_except(&self, busy: &BTreeSet<K>) -> Option<K> {
        let mut waiting = self.shared.waiting.lock();
        let key = waiting.by_place.values().find(|key| !busy.contains(*key))?.clone();
        waiting.remove(&key);
        drop(waiting);
        self.shared.states.take(&key);
        Some(key)
    }

    /// All keys in their order.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn take_all(&self) -> Vec<K> {
        let mut waiting = self.shared.waiting.lock();
        waiting.by_key.clear();
        let keys: Vec<K> = std::mem::take(&mut waiting.by_place).into_values().collect();
        drop(waiting);
        for key in &keys {
            self.shared.states.take(key);
        }
        keys
    }

    /// The run that begins covers all requests until now.
    pub(super) fn cover(&self, key: &K) {
        self.shared.waiting.lock().remove(key);
    }

    /// Resolves when something was requested, or [`Requests::notify`] was called, since the last time. For one reader.
    pub(crate) async fn changed(&self) {
        self.shared.some.notified().await;
    }

    pub(super) fn notify(&self) {
        self.shared.some.notify_one();
    }

    /// The smallest key, for tests that reconcile by hand.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn take_smallest(&self) -> Option<K> {
        let mut waiting = self.shared.waiting.lock();
        let key = waiting.by_key.first_key_value()?.0.clone();
        waiting.remove(&key);
        Some(key)
    }
}

impl<K: fmt::Debug> fmt::Debug for Shared<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl<K: Key> Waiting<K> {
    /// A key that waits already keeps its position, unless its class comes earlier now.
    fn enter(&mut self, key: K, class: RequestClass) {
        if self.by_key.get(&key).is_some_and(|place| place.class <= class) {
            return;
        }
        self.remove(&key);
        let place = RequestPosition { class, number: self.next };
        self.next += 1;
        self.by_key.insert(key.clone(), place);
        self.by_place.insert(place, key);
    }

    fn remove(&mut self, key: &K) {
        if let Some(place) = self.by_key.remove(key) {
            self.by_place.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> Requests<u32> {
        let requests = Requests::closed();
        requests.open();
        requests
    }

    #[test]
    fn nothing_is_collected_while_they_are_closed() {
        let requests = Requests::closed();
        requests.add([1]);
        assert!(requests.is_empty());
        requests.open();
        requests.add([1]);
        assert_eq!(requests.len(), 1);
    }

    #[test]
    fn keys_come_in_the_order_of_their_requests_and_once() {
        let requests = opened();
        requests.add([3, 1, 2, 3, 1]);
        assert_eq!(requests.take_except(&BTreeSet::from([3])), Some(1));
        requests.add([1]);
        assert_eq!(requests.take_all(), [3, 2, 1]);
        assert!(requests.is_empty());
    }

    #[test]
    fn classes_come_one_after_the_other_and_a_key_can_move_to_an_earlier_one() {
        let (requests, class) = (opened(), Arc::new(Mutex::new(RequestClass::Retry)));
        let of = class.clone();
        requests.classify_by(move |key| if *key < 10 { *of.lock() } else { RequestClass::New });
        requests.add([1, 2, 10, 11, 3]);
        *class.lock() = RequestClass::Finish;
        requests.add([2, 11]);
        *class.lock() = RequestClass::Retry;
        requests.add([2]);
        assert_eq!(requests.take_all(), [2, 10, 11, 1, 3]);
    }

    #[test]
    fn a_key_that_is_covered_waits_no_more() {
        let requests = opened();
        requests.add([1, 2]);
        requests.cover(&1);
        assert_eq!(requests.take_all(), [2]);
    }
}
