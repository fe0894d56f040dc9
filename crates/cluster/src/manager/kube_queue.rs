//! The production queue: kube-runtime's `Controller`. [`HandOver`] decides the order of keys. This is the only module
//! that uses the `Controller`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt, stream};
use k8s_openapi::ClusterResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube_runtime::controller::{self, Config, Controller};
use kube_runtime::reflector::store::Writer;
use kube_runtime::reflector::{self, ObjectRef};
use kube_runtime::watcher::Event;
use parking_lot::Mutex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::run::{Around, Runs};
use super::{Action, Key, Reconciler, Requests};

/// How long the futures of runs that were aborted may take to be dropped.
const ABORT: Duration = Duration::from_millis(400);

/// A key as an object, because the `Controller` takes nothing else.
#[derive(Clone)]
struct KeyObject<K> {
    key: K,
    metadata: ObjectMeta,
}

impl<K: Key> KeyObject<K> {
    fn new(key: K) -> Self {
        let metadata = ObjectMeta { name: Some(key.to_string()), ..ObjectMeta::default() };
        Self { key, metadata }
    }
}

impl<K: fmt::Debug> fmt::Debug for KeyObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// Required by the `Controller`, although it reads nothing.
impl<'de, K> Deserialize<'de> for KeyObject<K> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("keys are not read from anywhere"))
    }
}

impl<K: Key> Resource for KeyObject<K> {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Key".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "keys".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// State that the runs of one controller share.
struct Context<R: Reconciler> {
    runs: Runs<R>,
    hand_over: Arc<HandOver<R::Key>>,
    tracker: TaskTracker,
    around: Around,
    stop: CancellationToken,
}

impl<R: Reconciler> Context<R> {
    async fn run(self: Arc<Self>, key: R::Key) -> Action {
        if !self.hand_over.is_expected(&key) || self.stop.is_cancelled() {
            return Action::AwaitChange;
        }
        self.hand_over.begin(&key);
        let action = self.runs.reconcile(&key).await;
        self.hand_over.finish(&key, action);
        action
    }
}

/// Reconciles requested keys until `stop`. Runs that are under way then have `grace`; those that have not ended are
/// aborted.
pub(super) async fn work<R: Reconciler>(
    runs: Runs<R>,
    requests: Requests<R::Key>,
    concurrency: u16,
    around: Around,
    grace: Duration,
    stop: &CancellationToken,
) {
    let context = Arc::new(Context {
        runs,
        hand_over: HandOver::new(requests, concurrency.max(1).into()),
        tracker: TaskTracker::new(),
        around,
        stop: stop.clone(),
    });
    let tracker = context.tracker.clone();
    {
        let mut ends = pin!(controller_of(context));
        let timeout = async {
            stop.cancelled().await;
            sleep(grace).await;
        };
        tokio::select! {
            biased;
            () = async { while ends.next().await.is_some() {} } => debug!(controller = R::NAME, "stopped"),
            () = timeout => warn!(controller = R::NAME, "stopped with reconciliations under way; their writes are in doubt"),
        }
        // The `Controller` is dropped here, which aborts its runs: their futures are gone only when they were polled again.
    }
    tracker.close();
    if timeout(ABORT, tracker.wait()).await.is_err() {
        warn!(controller = R::NAME, runs = tracker.len(), "aborted reconciliations have not ended");
    }
}

fn controller_of<R: Reconciler>(context: Arc<Context<R>>) -> impl Stream<Item = ()> + Send {
    let (reader, mut writer) = reflector::store::<KeyObject<R::Key>>();
    writer.apply_watcher_event(&Event::Init);
    writer.apply_watcher_event(&Event::InitDone);
    let known = Arc::new(Mutex::new(writer));
    let keys = enter_keys(&context, known.clone());
    let stop = context.stop.clone();
    let run = |object: Arc<KeyObject<R::Key>>, context: Arc<Context<R>>| {
        let (around, tracker) = (context.around.clone(), context.tracker.clone());
        let run = around(context.run(object.key.clone()).boxed());
        tracker.track_future(run.map(|action| Ok::<_, Infallible>(action.into())))
    };
    let hand_over = context.hand_over.clone();
    Controller::for_stream_with(stream::pending(), reader.clone(), ())
        .reconcile_on(keys)
        .with_config(Config::default().concurrency(0))
        .graceful_shutdown_on(stop.cancelled_owned())
        .run(run, |_, error, _| match *error {}, context)
        .map(move |end| match end {
            Ok((object, _)) => {
                if let Some(object) = reader.get(&object)
                    && hand_over.end(&object.key)
                {
                    known.lock().apply_watcher_event(&Event::Delete(KeyObject::clone(&object)));
                }
            }
            // A requeue was due in the moment of the request, and its run has covered both.
            Err(controller::Error::ObjectNotFound(key)) => {
                debug!(controller = R::NAME, %key, "the object was deleted before its reconciliation");
            }
            Err(error) => warn!(controller = R::NAME, %error, "bug: the queue lost a reconciliation"),
        })
}

/// The keys that are handed over; the `Controller` runs only what it finds in its store.
fn enter_keys<R: Reconciler>(
    context: &Context<R>,
    known: Arc<Mutex<Writer<KeyObject<R::Key>>>>,
) -> impl Stream<Item = ObjectRef<KeyObject<R::Key>>> + Send + use<R> {
    context.hand_over.clone().stream().map(move |key| {
        let object = KeyObject::new(key);
        let reference = ObjectRef::from_obj(&object);
        known.lock().apply_watcher_event(&Event::Apply(object));
        reference
    })
}

impl From<Action> for controller::Action {
    fn from(action: Action) -> Self {
        match action {
            Action::AwaitChange => Self::await_change(),
            Action::RequeueAfter(delay) => Self::requeue(delay),
        }
    }
}

// Which keys kube's `Controller` has, and which one it gets next. Since it can limit how many keys run at once
// (<https://github.com/kube-rs/kube/pull/1277>), the keys that wait for a place are a `HashSet` in its scheduler, of which it takes
// whichever it meets first; while keys are requested again and again, others are never taken. So the `Controller` is given only
// keys that can run at once, in the order of [`Requests`], and none that it has already: a request of an earlier class waits only
// for runs that have begun.

pub(super) struct HandOver<K> {
    requests: Requests<K>,
    /// The bound of keys that are handed over and have not ended.
    at_most: usize,
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
    HandedOver,
    Running,
    /// Its run has ended, and the `Controller` has not reported it yet.
    Finished(Action),
}

impl<K: Key> HandOver<K> {
    pub fn new(requests: Requests<K>, at_most: usize) -> Arc<Self> {
        let keys = Keys { all: BTreeSet::new(), stages: BTreeMap::new() };
        Arc::new(Self { requests, at_most, keys: Mutex::new(keys) })
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
        if keys.all.len() >= self.at_most {
            return None;
        }
        let key = self.requests.take_except(&keys.all)?;
        keys.all.insert(key.clone());
        keys.stages.insert(key.clone(), Stage::HandedOver);
        Some(key)
    }

    /// Whether the run that is about to begin was caused by handing the key over. If not, its requeue is due: it is
    /// requested, and handed over in its turn.
    pub fn is_expected(&self, key: &K) -> bool {
        let is_expected = self.keys.lock().stages.get(key) == Some(&Stage::HandedOver);
        if !is_expected {
            self.requests.add([key.clone()]);
        }
        is_expected
    }

    /// The run begins. It covers all requests until now; later requests are new ones.
    pub fn begin(&self, key: &K) {
        let mut keys = self.keys.lock();
        if let Some(stage) = keys.stages.get_mut(key) {
            *stage = Stage::Running;
        }
        self.requests.cover(key);
    }

    pub fn finish(&self, key: &K, action: Action) {
        if let Some(stage) = self.keys.lock().stages.get_mut(key) {
            *stage = Stage::Finished(action);
        }
    }

    /// Called when the `Controller` has seen the end of a run; returns whether it can forget the key. Unexpected ends
    /// change nothing.
    pub fn end(&self, key: &K) -> bool {
        let mut keys = self.keys.lock();
        let Some(Stage::Finished(action)) = keys.stages.get(key).copied() else { return false };
        keys.stages.remove(key);
        keys.all.remove(key);
        drop(keys);
        // There is free capacity for another one.
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
        (requests.clone(), HandOver::new(requests, 16))
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
        assert_eq!(first, (84..100).rev().collect::<Vec<_>>());
        assert!(run(&hand_over, 90, Action::AwaitChange));
        assert_eq!((hand_over.next(), hand_over.next()), (Some(83), None));
    }

    #[test]
    fn a_key_that_has_not_ended_is_not_handed_over_again_and_then_in_the_order_of_its_request() {
        let (requests, hand_over) = with([1]);
        assert_eq!(hand_over.next(), Some(1));
        requests.add([1]);
        assert_eq!(hand_over.next(), None, "the run that has not started covers it");
        hand_over.begin(&1);
        assert!(requests.is_empty());
        requests.add([1, 2]);
        assert_eq!((hand_over.next(), hand_over.next()), (Some(2), None));
        hand_over.finish(&1, Action::AwaitChange);
        assert_eq!(hand_over.next(), None, "the end was not observed");
        requests.add([3]);
        assert!(hand_over.end(&1));
        assert_eq!((hand_over.next(), hand_over.next()), (Some(1), Some(3)), "it was requested before 3");
    }

    #[test]
    fn a_requeue_that_is_due_is_a_request() {
        let (requests, hand_over) = with([1]);
        assert_eq!(hand_over.next(), Some(1));
        assert!(hand_over.is_expected(&1));
        assert!(
            !run(&hand_over, 1, Action::RequeueAfter(Duration::from_secs(1))),
            "the Controller has to know the key"
        );
        assert!(!hand_over.is_expected(&1));
        assert_eq!(requests.len(), 1);
        assert_eq!(hand_over.next(), Some(1));
        assert!(!hand_over.end(&1), "the end of the unexpected run");
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
