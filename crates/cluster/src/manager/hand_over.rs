//! Which keys kube's `Controller` has, and which one it gets next. Since it can limit how many keys run at once
//! (<https://github.com/kube-rs/kube/pull/1277>), the keys that wait for a place are a `HashSet` in its scheduler, of which it takes
//! whichever it meets first; while keys are requested again and again, others are never taken. So the `Controller` is given few keys
//! at a time, in the order of their requests, and none that it has already.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{Stream, stream};
use parking_lot::Mutex;

use super::{Action, Key, Requests};

/// So many keys are handed over at most that have not ended.
const AT_MOST: usize = 64;

pub(super) struct HandOver<K> {
    requests: Requests<K>,
    keys: Mutex<Keys<K>>,
}

/// The keys that are handed over and have not ended.
struct Keys<K> {
    /// All of them, as [`Requests`] wants to have them.
    all: BTreeSet<K>,
    stages: BTreeMap<K, Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its run has not begun.
    HandedOver,
    Running,
    /// Its run has ended, and the `Controller` has not said so yet.
    Finished(Action),
}

impl<K: Key> HandOver<K> {
    pub fn new(requests: Requests<K>) -> Arc<Self> {
        let keys = Keys { all: BTreeSet::new(), stages: BTreeMap::new() };
        Arc::new(Self { requests, keys: Mutex::new(keys) })
    }

    /// The keys as they are handed over; for one reader.
    pub fn stream(self: Arc<Self>) -> impl Stream<Item = K> + Send {
        stream::unfold(self, |hand_over| async move {
            loop {
                match hand_over.next() {
                    Some(key) => return Some((key, hand_over)),
                    None => hand_over.requests.changed().await,
                }
            }
        })
    }

    fn next(&self) -> Option<K> {
        let mut keys = self.keys.lock();
        if keys.all.len() >= AT_MOST {
            return None;
        }
        let key = self.requests.take_except(&keys.all)?;
        keys.all.insert(key.clone());
        keys.stages.insert(key.clone(), Stage::HandedOver);
        Some(key)
    }

    /// Whether the run that is about to begin was asked for by handing the key over. If not, its requeue is due: it is
    /// requested, and handed over when it is its turn.
    pub fn is_expected(&self, key: &K) -> bool {
        let is_expected = self.keys.lock().stages.get(key) == Some(&Stage::HandedOver);
        if !is_expected {
            self.requests.add([key.clone()]);
        }
        is_expected
    }

    /// The run begins. It covers what was requested until now; later requests are new ones.
    pub fn begin(&self, key: &K) {
        let mut keys = self.keys.lock();
        if let Some(stage) = keys.stages.get_mut(key) {
            *stage = Stage::Running;
        }
        self.requests.cover(key);
    }

    /// The run has ended.
    pub fn finish(&self, key: &K, action: Action) {
        if let Some(stage) = self.keys.lock().stages.get_mut(key) {
            *stage = Stage::Finished(action);
        }
    }

    /// The `Controller` has seen the end of a run; whether it need not know the key any more. Ends of runs that nobody expected
    /// change nothing.
    pub fn end(&self, key: &K) -> bool {
        let mut keys = self.keys.lock();
        let Some(Stage::Finished(action)) = keys.stages.get(key).copied() else { return false };
        keys.stages.remove(key);
        keys.all.remove(key);
        drop(keys);
        // There is room for another one.
        self.requests.notify();
        action == Action::AwaitChange
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn with(keys: impl IntoIterator<Item = u32>) -> (Requests<u32>, Arc<HandOver<u32>>) {
        let requests = Requests::closed();
        requests.open();
        requests.add(keys);
        (requests.clone(), HandOver::new(requests))
    }

    fn run(hand_over: &HandOver<u32>, key: u32, action: Action) -> bool {
        hand_over.begin(&key);
        hand_over.finish(&key, action);
        hand_over.end(&key)
    }

    #[test]
    fn few_keys_are_handed_over_at_a_time_in_the_order_of_their_requests() {
        let (_, hand_over) = with((0..100).rev());
        let first: Vec<_> = std::iter::from_fn(|| hand_over.next()).collect();
        assert_eq!(first, (36..100).rev().collect::<Vec<_>>());
        assert!(run(&hand_over, 50, Action::AwaitChange));
        assert_eq!((hand_over.next(), hand_over.next()), (Some(35), None));
    }

    #[test]
    fn a_key_that_has_not_ended_is_not_handed_over_again_and_then_in_the_order_of_its_request() {
        let (requests, hand_over) = with([1]);
        assert_eq!(hand_over.next(), Some(1));
        requests.add([1]);
        assert_eq!(hand_over.next(), None, "the run that has not begun covers it");
        hand_over.begin(&1);
        assert!(requests.is_empty());
        requests.add([1, 2]);
        assert_eq!((hand_over.next(), hand_over.next()), (Some(2), None));
        hand_over.finish(&1, Action::AwaitChange);
        assert_eq!(hand_over.next(), None, "the end was not seen");
        requests.add([3]);
        assert!(hand_over.end(&1));
        assert_eq!((hand_over.next(), hand_over.next()), (Some(1), Some(3)), "it was requested before 3");
    }

    #[test]
    fn a_requeue_that_is_due_is_a_request() {
        let (requests, hand_over) = with([1]);
        assert_eq!(hand_over.next(), Some(1));
        assert!(hand_over.is_expected(&1));
        assert!(!run(&hand_over, 1, Action::RequeueAfter(Duration::from_secs(1))), "the Controller has to know it");
        assert!(!hand_over.is_expected(&1));
        assert_eq!(requests.len(), 1);
        assert_eq!(hand_over.next(), Some(1));
        assert!(!hand_over.end(&1), "the end of the run that was not expected");
        assert!(hand_over.is_expected(&1));
    }

    #[test]
    fn nothing_is_kept_of_keys_that_have_ended() {
        let (_, hand_over) = with(0..1000);
        while let Some(key) = hand_over.next() {
            run(&hand_over, key, Action::AwaitChange);
        }
        let keys = hand_over.keys.lock();
        assert_eq!((keys.all.len(), keys.stages.len()), (0, 0));
    }
}
