//! An optional kind: while it is not installed, nothing waits for it and nothing is logged.

use super::*;
use crate::testing::LogCapture;

#[derive(Default)]
struct Installed {
    now: std::sync::atomic::AtomicBool,
    asked: AtomicUsize,
}

fn not_installed() -> Reply {
    Reply::error(404, "NotFound", "404 page not found")
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_and_goes_is_reported_once_each_time_and_blocks_nothing() {
    let (installed, open) = (Arc::new(Installed::default()), Mutex::default());
    let (state, log) = (installed.clone(), LogCapture::listen());
    let gone =
        json!({ "type": "ERROR", "object": { "kind": "Status", "code": 404, "reason": "NotFound", "message": "" } });
    let (registry, all) = metrics();
    let (store, stop) = (Store::<Thing>::new(&[]), CancellationToken::new());
    let (end, mut ends) = mpsc::unbounded_channel();
    let cluster = crate::testing::scripted(move |request| {
        state.asked.fetch_add(1, Ordering::Relaxed);
        match state.now.load(Ordering::Relaxed) {
            false => not_installed(),
            true if is_watch(request) => {
                let reply = watch(&[], &open);
                end.send(open.lock().pop().unwrap()).unwrap();
                reply
            }
            true => list(10, "", &[thing("a", "a", 3)]),
        }
    });
    let task = tokio::spawn(feed_optional(store.clone(), cluster, stop.clone(), all.stores));

    timeout(Duration::from_secs(1), store.synced(&home())).await.unwrap();
    assert!(!store.is_served(&home()) && store.require_synced(&home()).is_ok());
    assert_eq!(store.completeness(&home()), Completeness::Complete);
    sleep(Duration::from_secs(600)).await;
    let asked = installed.asked.swap(0, Ordering::Relaxed);
    assert!((15..40).contains(&asked), "{asked} requests in ten minutes");
    assert_eq!(log.take().len(), 1, "logged once");
    assert!(!registry.render().contains("berth_watch_failures_total{"), "{}", registry.render());

    installed.now.store(true, Ordering::Relaxed);
    sleep(LONGEST_PAUSE + Duration::from_secs(1)).await;
    assert!(store.is_served(&home()) && store.get(&ObjectKey::new(home(), "a")).is_some());
    assert_eq!(log.take().len(), 1, "the object is there");

    installed.now.store(false, Ordering::Relaxed);
    ends.recv().await.unwrap().send(gone).unwrap();
    sleep(Duration::from_secs(5)).await;
    assert!(!store.is_served(&home()) && store.is_empty() && store.require_synced(&home()).is_ok());
    assert_eq!(log.take().len(), 1, "the object is gone again");
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_answer_of_a_server_that_has_just_started_is_not_believed() {
    let (tries, open, log) = (AtomicUsize::new(0), Mutex::default(), LogCapture::listen());
    let (_registry, all) = metrics();
    let store = Store::<Thing>::new(&[]);
    let cluster = crate::testing::scripted(move |request| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => not_installed(),
        _ if is_watch(request) => watch(&[], &open),
        _ => list(10, "", &[thing("a", "a", 3)]),
    });
    let task = tokio::spawn(feed_optional(store.clone(), cluster, CancellationToken::new(), all.stores));
    store.synced(&home()).await;
    assert_eq!((store.len(), log.take()), (1, Vec::<String>::new()));
    task.abort();
}
