//! The queue of production: kube-runtime's `Controller`. It keeps keys apart that are being reconciled, and requeues them; which
//! key it gets next is decided by [`HandOver`]. This is the only place that knows the `Controller`.

use std::{borrow::Cow, convert::Infallible, fmt, pin::pin, sync::Arc, time::Duration};

use futures::{FutureExt, Stream, StreamExt, stream};
use k8s_openapi::{ClusterResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::Resource;
use kube_runtime::{
    controller::{self, Config, Controller},
    reflector::{self, ObjectRef, store::Writer},
    watcher::Event,
};
use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, de::Error as _};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::{
    Action, Key, Reconciler, Requests,
    hand_over::HandOver,
    run::{Around, Runs},
};

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

/// The `Controller` asks for it although it reads nothing.
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

/// What the runs of one controller share.
struct Context<R: Reconciler> {
    runs: Runs<R>,
    hand_over: Arc<HandOver<R::Key>>,
    /// A fair semaphore: whoever was handed over first gets the next place.
    places: Semaphore,
    tracker: TaskTracker,
    around: Around,
    stop: CancellationToken,
}

impl<R: Reconciler> Context<R> {
    async fn run(self: Arc<Self>, key: R::Key) -> Action {
        if !self.hand_over.is_expected(&key) {
            return Action::AwaitChange;
        }
        let place = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Action::AwaitChange,
            place = self.places.acquire() => place,
        };
        self.hand_over.begin(&key);
        let action = self.runs.reconcile(&key).await;
        self.hand_over.finish(&key, action);
        drop(place);
        action
    }
}

/// Reconciles what is requested until `stop`. Runs that are under way then have `grace`; those that have not ended are aborted.
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
        hand_over: HandOver::new(requests),
        places: Semaphore::new(concurrency.max(1).into()),
        tracker: TaskTracker::new(),
        around,
        stop: stop.clone(),
    });
    let tracker = context.tracker.clone();
    {
        let mut ends = pin!(controller_of(context));
        let patience = async {
            stop.cancelled().await;
            sleep(grace).await;
        };
        tokio::select! {
            biased;
            () = async { while ends.next().await.is_some() {} } => debug!(controller = R::NAME, "stopped"),
            () = patience => warn!(controller = R::NAME, "stopped with runs under way; what they wrote is in doubt"),
        }
        // The `Controller` is dropped here, which aborts its runs: their futures are gone only when they were polled again.
    }
    tracker.close();
    if timeout(ABORT, tracker.wait()).await.is_err() {
        warn!(controller = R::NAME, runs = tracker.len(), "aborted runs have not ended");
    }
}

/// The ends of the runs.
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
            Err(controller::Error::ObjectNotFound(key)) => debug!(controller = R::NAME, %key, "nothing left to do"),
            Err(error) => warn!(controller = R::NAME, %error, "the queue has lost a run; this is a bug"),
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
