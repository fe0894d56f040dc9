//! The guarantees of both queues, on tokio's paused clock.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::testing::metrics;
use crate::{Classified, ErrorClass, ObjectKey, Right};

#[derive(Debug, thiserror::Error)]
#[error("reconciliation failed: {0}")]
struct Failed(ErrorClass);

impl Classified for Failed {
    fn class(&self) -> ErrorClass {
        self.0
    }
}

/// Both queues give the same guarantees.
#[derive(Clone, Copy)]
enum Kept {
    Kube,
    Seeded,
}

impl Kept {
    fn queue(self) -> Queue {
        match self {
            Self::Kube => Queue::Kube,
            Self::Seeded => Queue::Seeded(Box::new(|| Box::new(|_| 0))),
        }
    }
}

macro_rules! by_both_queues {
    ($($promise:ident),* $(,)?) => {
        mod kube {
            $(#[tokio::test(start_paused = true)] async fn $promise() { super::$promise(super::Kept::Kube).await })*
        }
        mod seeded {
            $(#[tokio::test(start_paused = true)] async fn $promise() { super::$promise(super::Kept::Seeded).await })*
        }
    };
}

by_both_queues!(
    events_do_not_cut_a_back_off_short_and_a_success_ends_it,
    what_only_the_user_can_cure_is_reconciled_rarely_but_soon_after_an_event,
    a_conflict_is_reconciled_again_at_once,
    a_key_is_requeued_after_the_time_that_it_asks_for_and_an_event_brings_it_forward,
    a_request_during_a_reconciliation_is_not_lost,
    equal_names_in_two_clusters_are_two_keys,
    a_key_is_never_reconciled_twice_at_a_time_and_never_more_keys_than_allowed,
    it_stops_within_five_seconds_even_if_a_run_hangs_and_drops_the_run,
    it_stops_at_once_if_nothing_is_under_way_and_after_what_is,
    runs_are_counted_by_outcome_and_class,
    an_earlier_requeue_replaces_a_later_one,
    every_key_has_its_turn_however_often_all_are_requested,
    keys_that_are_due_at_the_same_time_all_run,
    its_runs_end_when_the_queue_is_dropped,
    what_was_added_to_be_done_first_is_done_before_any_key_is_reconciled,
    a_stream_requests_keys,
    what_a_key_waits_for_is_known,
);

type Log = Arc<Mutex<BTreeMap<String, Vec<u64>>>>;

type Reconcile = Box<dyn Fn(String, usize) -> BoxFuture<'static, Result<Action, Failed>> + Send + Sync>;

/// A controller under test.
struct Things {
    log: Log,
    started_at: Instant,
    first: Vec<ObjectKey>,
    streamed: Mutex<Option<BoxStream<'static, ObjectKey>>>,
    /// Gets the name of the key and how often it was reconciled before.
    reconcile: Reconcile,
}

impl Reconciler for Things {
    const NAME: &'static str = "things";
    type Key = ObjectKey;
    type Settings = ();
    type Error = Failed;

    fn rights((): &()) -> Vec<Right> {
        Vec::new()
    }

    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        if let Some(keys) = self.streamed.lock().take() {
            watches.stream(keys);
        }
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.first.clone()
    }

    /// By the first letter of the name.
    fn request_class(&self, key: &ObjectKey) -> RequestClass {
        match key.name.chars().next() {
            Some('f') => RequestClass::Finish,
            Some('r') => RequestClass::Retry,
            _ => RequestClass::New,
        }
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Failed> {
        let millis = u64::try_from(self.started_at.elapsed().as_millis()).unwrap();
        let before = {
            let mut all = self.log.lock();
            let runs = all.entry(key.to_string()).or_default();
            runs.push(millis);
            runs.len() - 1
        };
        (self.reconcile)(key.name.to_string(), before).await
    }
}

fn things<R>(reconcile: impl Fn(String, usize) -> R + Send + Sync + 'static) -> Things
where
    R: Future<Output = Result<Action, Failed>> + Send + 'static,
{
    Things {
        log: Log::default(),
        started_at: Instant::now(),
        first: Vec::new(),
        streamed: Mutex::default(),
        reconcile: Box::new(move |name, before| reconcile(name, before).boxed()),
    }
}

/// A running controller: the reconciliations with their keys, in milliseconds since the start.
struct Scene {
    requests: Requests<ObjectKey>,
    stop: CancellationToken,
    log: Log,
    registry: berth_telemetry::metrics::Metrics,
    task: tokio::task::JoinHandle<()>,
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("home".into(), name)
}

async fn scene<R>(kept: Kept, concurrency: u16, reconcile: impl Fn(String, usize) -> R + Send + Sync + 'static) -> Scene
where
    R: Future<Output = Result<Action, Failed>> + Send + 'static,
{
    run(kept.queue(), concurrency, things(reconcile)).await
}

async fn run(queue: Queue, concurrency: u16, things: Things) -> Scene {
    run_after(queue, concurrency, things, std::future::ready(())).await
}

async fn run_after(
    queue: Queue,
    concurrency: u16,
    things: Things,
    before: impl Future<Output = ()> + Send + 'static,
) -> Scene {
    let (requests, stop, log) = (Requests::closed(), CancellationToken::new(), things.log.clone());
    let (registry, all) = metrics();
    let mut manager = Manager::new(all.controllers, queue);
    manager.before_first(before);
    manager.add(Arc::new(things), requests.clone(), Options { concurrency, ..Options::default() });
    let (name, work) = manager.leader_work(&stop).pop().unwrap();
    assert_eq!(name, "the controller things");
    let task = tokio::spawn(work);
    tokio::task::yield_now().await;
    Scene { requests, stop, log, registry, task }
}

impl Scene {
    fn runs(&self, name: &str) -> Vec<u64> {
        self.log.lock().get(&format!("home/{name}")).cloned().unwrap_or_default()
    }

    fn request(&self, name: &str) {
        self.requests.add([key(name)]);
    }

    async fn request_every_100_ms(&self, name: &str, times: u32) {
        for _ in 0..times {
            self.request(name);
            sleep(Duration::from_millis(100)).await;
        }
    }
}

fn about(actual: &[u64], expected: &[u64]) -> bool {
    actual.len() == expected.len() && actual.iter().zip(expected).all(|(a, e)| a.abs_diff(*e) <= 10)
}

async fn events_do_not_cut_a_back_off_short_and_a_success_ends_it(kept: Kept) {
    let scene = scene(kept, 16, |_, before| async move {
        if before < 4 { Err(Failed(ErrorClass::Transient)) } else { Ok(Action::AwaitChange) }
    })
    .await;
    scene.request_every_100_ms("a", 70).await;
    scene.request("a");
    sleep(Duration::from_secs(600)).await;
    let runs = scene.runs("a");
    assert!(about(&runs[..5], &[0, 500, 1500, 3500, 7500]), "{runs:?}");
    assert_eq!(runs.len(), 5, "the success covers the requests before it");
    scene.request("a");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.runs("a").len(), 6);
}

async fn what_only_the_user_can_cure_is_reconciled_rarely_but_soon_after_an_event(kept: Kept) {
    let scene = scene(kept, 16, |_, _| async { Err(Failed(ErrorClass::Permanent)) }).await;
    scene.request("a");
    sleep(Duration::from_secs(1000)).await;
    assert!(about(&scene.runs("a"), &[0, 900_000]), "{:?}", scene.runs("a"));
    scene.request("a");
    sleep(Duration::from_secs(1)).await;
    assert!(about(&scene.runs("a"), &[0, 900_000, 1_000_000]), "{:?}", scene.runs("a"));
    scene.request_every_100_ms("a", 100).await;
    assert!(scene.runs("a").len() <= 5, "{:?}", scene.runs("a"));
}

async fn a_conflict_is_reconciled_again_at_once(kept: Kept) {
    let scene = scene(kept, 16, |_, before| async move {
        if before < 2 { Err(Failed(ErrorClass::Conflict)) } else { Ok(Action::AwaitChange) }
    })
    .await;
    scene.request("a");
    sleep(Duration::from_secs(60)).await;
    assert!(about(&scene.runs("a"), &[0, 200, 600]), "{:?}", scene.runs("a"));
}

async fn a_key_is_requeued_after_the_time_that_it_asks_for_and_an_event_brings_it_forward(kept: Kept) {
    let scene = scene(kept, 16, |_, _| async { Ok(Action::RequeueAfter(Duration::from_secs(300))) }).await;
    scene.request("a");
    sleep(Duration::from_secs(100)).await;
    scene.request("a");
    sleep(Duration::from_secs(500)).await;
    assert!(about(&scene.runs("a"), &[0, 100_000, 400_000]), "{:?}", scene.runs("a"));
}

async fn a_request_during_a_reconciliation_is_not_lost(kept: Kept) {
    let scene = scene(kept, 16, |_, _| async {
        sleep(Duration::from_secs(1)).await;
        Ok(Action::AwaitChange)
    })
    .await;
    scene.request("gone");
    sleep(Duration::from_millis(500)).await;
    scene.request("gone");
    sleep(Duration::from_secs(60)).await;
    assert!(about(&scene.runs("gone"), &[0, 1000]), "{:?}", scene.runs("gone"));
    scene.request("gone");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(scene.runs("gone").len(), 3, "a key that was settled can come back");
}

async fn equal_names_in_two_clusters_are_two_keys(kept: Kept) {
    let scene = scene(kept, 16, |_, _| async { Ok(Action::AwaitChange) }).await;
    scene.request("a");
    scene.requests.add([ObjectKey::new("away".into(), "a")]);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.log.lock().keys().collect::<Vec<_>>(), ["away/a", "home/a"]);
}

async fn a_key_is_never_reconciled_twice_at_a_time_and_never_more_keys_than_allowed(kept: Kept) {
    let running = Arc::new(Mutex::new((BTreeMap::<String, u32>::new(), 0)));
    let seen = running.clone();
    let scene = scene(kept, 3, move |name, _| {
        let running = running.clone();
        async move {
            {
                let mut now = running.lock();
                let same = now.0.entry(name.clone()).or_default();
                *same += 1;
                assert_eq!(*same, 1);
                now.1 = now.0.values().sum::<u32>().max(now.1);
            }
            sleep(Duration::from_millis(70)).await;
            *running.lock().0.get_mut(&name).unwrap() -= 1;
            Ok(Action::AwaitChange)
        }
    })
    .await;
    for _ in 0..20 {
        for name in ["a", "b", "c", "d", "e"] {
            scene.request(name);
        }
        sleep(Duration::from_millis(30)).await;
    }
    sleep(Duration::from_secs(5)).await;
    assert_eq!(seen.lock().1, 3);
    assert!(!scene.task.is_finished());
}

/// Records when a run is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs that hang, and how many of them were dropped.
async fn hanging(kept: Kept) -> (Scene, Arc<AtomicUsize>) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = dropped.clone();
    let scene = scene(kept, 16, move |_, _| {
        let guard = Dropped(counter.clone());
        async move {
            sleep(Duration::from_secs(3600)).await;
            drop(guard);
            Ok(Action::AwaitChange)
        }
    })
    .await;
    scene.request("a");
    sleep(Duration::from_secs(1)).await;
    (scene, dropped)
}

async fn it_stops_within_five_seconds_even_if_a_run_hangs_and_drops_the_run(kept: Kept) {
    let (scene, dropped) = hanging(kept).await;
    let started_at = Instant::now();
    scene.stop.cancel();
    scene.task.await.unwrap();
    assert!(started_at.elapsed() < Duration::from_secs(5), "{:?}", started_at.elapsed());
    assert_eq!(dropped.load(Ordering::SeqCst), 1, "the run is dropped before the lease is released");
}

async fn its_runs_end_when_the_queue_is_dropped(kept: Kept) {
    let (scene, dropped) = hanging(kept).await;
    scene.task.abort();
    sleep(Duration::from_millis(10)).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

async fn it_stops_at_once_if_nothing_is_under_way_and_after_what_is(kept: Kept) {
    for (run, longest) in [(0, 1), (2, 3)] {
        let scene = scene(kept, 16, move |_, _| async move {
            sleep(Duration::from_secs(run)).await;
            Ok(Action::RequeueAfter(Duration::from_secs(60)))
        })
        .await;
        scene.request("a");
        sleep(Duration::from_millis(500)).await;
        scene.stop.cancel();
        timeout(Duration::from_secs(longest), scene.task).await.unwrap().unwrap();
    }
}

async fn runs_are_counted_by_outcome_and_class(kept: Kept) {
    let scene = scene(kept, 16, |name, _| async move {
        match name.as_str() {
            "bad" => Err(Failed(ErrorClass::Permanent)),
            "again" => Ok(Action::RequeueAfter(Duration::from_secs(3600))),
            _ => Ok(Action::AwaitChange),
        }
    })
    .await;
    for name in ["good", "bad", "again"] {
        scene.request(name);
    }
    sleep(Duration::from_secs(1)).await;
    let text = scene.registry.render();
    for line in [
        r#"berth_controller_runs_total{controller="things",outcome="done"} 1"#,
        r#"berth_controller_runs_total{controller="things",outcome="requeued"} 1"#,
        r#"berth_controller_runs_total{controller="things",outcome="failed"} 1"#,
        r#"berth_controller_failures_total{class="permanent",controller="things"} 1"#,
        r#"berth_controller_backing_off_objects{controller="things"} 1"#,
        r#"berth_controller_run_duration_seconds_count{controller="things"} 3"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// Reconciles one key at a time; `again` is requested once more at the end of the first run. Returns the keys in the order of
/// runs.
async fn order_of(queue: Queue, requested: &[&str], again: &'static str) -> Vec<String> {
    let order = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::new(Mutex::new(None::<Requests<ObjectKey>>));
    let (seen, enqueue) = (order.clone(), requests.clone());
    let things = things(move |name, _| {
        let is_again = seen.lock().is_empty() && !again.is_empty();
        seen.lock().push(name);
        let enqueue = enqueue.clone();
        async move {
            sleep(Duration::from_millis(10)).await;
            if is_again {
                enqueue.lock().as_ref().unwrap().add([key(again)]);
            }
            Ok(Action::AwaitChange)
        }
    });
    let scene = run(queue, 1, things).await;
    *requests.lock() = Some(scene.requests.clone());
    for name in requested {
        scene.request(name);
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let order = order.lock();
    order.clone()
}

#[tokio::test(start_paused = true)]
async fn the_picker_decides_the_order() {
    for (place, expected) in [(0, ["x", "a", "b", "c"]), (1, ["x", "b", "c", "a"]), (2, ["x", "c", "a", "b"])] {
        let queue = Queue::Seeded(Box::new(move || Box::new(move |_| place)));
        assert_eq!(order_of(queue, &["x", "c", "b", "a"], "").await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_reconciled_in_the_order_of_their_requests() {
    assert_eq!(order_of(Queue::Kube, &["x", "c", "a", "b", "c"], "").await, ["x", "c", "a", "b"]);
    let again = order_of(Queue::Kube, &["x", "c", "a"], "x").await;
    assert_eq!(again, ["x", "c", "a", "x"], "a key that is requested while it is reconciled waits behind the others");
}

#[tokio::test(start_paused = true)]
async fn what_was_begun_is_finished_before_new_work_and_what_waits_is_tried_last() {
    let order = order_of(Queue::Kube, &["x", "r1", "r2", "n1", "f1", "n2", "f2"], "").await;
    assert_eq!(order, ["x", "f1", "f2", "n1", "n2", "r1", "r2"]);
}

async fn an_earlier_requeue_replaces_a_later_one(kept: Kept) {
    let scene = scene(kept, 16, |name, before| async move {
        let delay = if name == "a" && before == 0 { 100 } else { 300 };
        Ok(Action::RequeueAfter(Duration::from_secs(delay)))
    })
    .await;
    scene.request("a");
    scene.request("b");
    sleep(Duration::from_secs(50)).await;
    scene.request("a");
    sleep(Duration::from_secs(310)).await;
    assert!(about(&scene.runs("a"), &[0, 50_000, 350_000]), "{:?}", scene.runs("a"));
    assert!(about(&scene.runs("b"), &[0, 300_000]), "{:?}", scene.runs("b"));
}

const BUSY: usize = 2000;
const AT_ONCE: usize = 16;

/// Picks the keys in rotation while the maximum of them runs, which is fair.
fn go_around() -> impl FnMut(usize) -> usize + Send {
    let mut picks = 0;
    move |waiting| {
        // The running keys are missing among the waiting ones, just before the next place.
        let place = usize::saturating_sub(picks % BUSY, AT_ONCE - 1);
        picks += 1;
        place % waiting
    }
}

/// With kube's `Controller` alone most of the keys would never run.
async fn every_key_has_its_turn_however_often_all_are_requested(kept: Kept) {
    let requests = Arc::new(Mutex::new(None::<Requests<ObjectKey>>));
    let enqueue = requests.clone();
    let queue = match kept {
        Kept::Kube => Queue::Kube,
        Kept::Seeded => Queue::Seeded(Box::new(|| Box::new(go_around()))),
    };
    let things = things(move |name, _| {
        let enqueue = enqueue.clone();
        async move {
            enqueue.lock().as_ref().unwrap().add([key(&name)]);
            sleep(Duration::from_millis(1)).await;
            Ok(Action::AwaitChange)
        }
    });
    let scene = run(queue, 16, things).await;
    *requests.lock() = Some(scene.requests.clone());
    scene.requests.add((0..BUSY).map(|number| key(&number.to_string())));
    sleep(Duration::from_millis(1500)).await;
    let log = scene.log.lock();
    let runs: Vec<usize> = log.values().map(Vec::len).collect();
    let (least, most) = (*runs.iter().min().unwrap(), *runs.iter().max().unwrap());
    assert_eq!(runs.len(), BUSY);
    assert!(least >= 2 && most - least <= 2, "{least} to {most} runs");
}

async fn keys_that_are_due_at_the_same_time_all_run(kept: Kept) {
    let scene = scene(kept, 16, |_, before| async move {
        sleep(Duration::from_millis(1)).await;
        Ok(if before == 0 { Action::RequeueAfter(Duration::from_secs(60)) } else { Action::AwaitChange })
    })
    .await;
    scene.requests.add((0..1000).map(|number| key(&number.to_string())));
    sleep(Duration::from_secs(120)).await;
    let log = scene.log.lock();
    assert_eq!(log.len(), 1000);
    assert!(log.values().all(|runs| runs.len() == 2), "{log:?}");
}

async fn what_was_added_to_be_done_first_is_done_before_any_key_is_reconciled(kept: Kept) {
    let things = Things { first: vec![key("first")], ..things(|_, _| async { Ok(Action::AwaitChange) }) };
    let scene = run_after(kept.queue(), 16, things, sleep(Duration::from_secs(5))).await;
    scene.request("too early");
    sleep(Duration::from_secs(1)).await;
    assert!(scene.log.lock().is_empty());
    sleep(Duration::from_secs(10)).await;
    assert!(about(&scene.runs("first"), &[5000]), "{:?}", scene.runs("first"));
    assert_eq!(scene.runs("too early"), [0; 0], "the initial keys cover all objects");
}

async fn a_stream_requests_keys(kept: Kept) {
    let things = things(|_, _| async { Ok(Action::AwaitChange) });
    let keys = stream::iter(["a", "b"]).map(key).boxed();
    *things.streamed.lock() = Some(keys);
    let scene = run(kept.queue(), 16, things).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!((scene.runs("a").len(), scene.runs("b").len()), (1, 1));
    scene.request("a");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.runs("a").len(), 2, "a finished stream ends nothing else");
}

async fn what_a_key_waits_for_is_known(kept: Kept) {
    let scene = scene(kept, 1, |name, before| async move {
        match name.as_str() {
            "requeued" => Ok(Action::RequeueAfter(Duration::from_secs(60))),
            "failing" if before < 2 => Err(Failed(ErrorClass::Transient)),
            "failing" => Ok(Action::AwaitChange),
            _ => {
                sleep(Duration::from_secs(5)).await;
                Ok(Action::AwaitChange)
            }
        }
    })
    .await;
    let (state, started_at) = (|name: &str| scene.requests.state(&key(name)), Instant::now());
    let due_at = |name: &str| match state(name).activity {
        Activity::Idle(Some(due)) => u64::try_from((due - started_at).as_millis()).unwrap(),
        other => panic!("{name}: {other:?}"),
    };
    let rests = KeyState { activity: Activity::Idle(None), failures: None };
    assert_eq!(state("requeued"), rests, "it was not requested yet");
    scene.requests.add(["requeued", "failing"].map(key));
    sleep(Duration::from_millis(600)).await;
    assert!(about(&["requeued", "failing"].map(due_at), &[60_000, 1_500]), "{:?}", state("failing"));
    let error = "reconciliation failed: transient".to_owned();
    assert_eq!(state("failing").failures, Some(KeyFailures { count: 2, class: ErrorClass::Transient, error }));
    scene.request("slow 1");
    tokio::task::yield_now().await;
    scene.requests.add(["slow 2", "requeued"].map(key));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(state("slow 1").activity, Activity::Running);
    for waiting in ["slow 2", "requeued", "failing"] {
        assert_eq!(state(waiting).activity, Activity::Queued, "{waiting}");
    }
    sleep(Duration::from_secs(15)).await;
    assert_eq!(["slow 1", "slow 2", "failing"].map(state), [rests.clone(), rests.clone(), rests]);
}
