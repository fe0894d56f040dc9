//! The watch against a scripted API server.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::retries::LONGEST_PAUSE;
use super::*;
use crate::ObjectKey;
use crate::testing::{Reply, Request, Thing, metrics, scripted, thing};

/// A fed store, and a sender of watch events.
struct Scene {
    store: Store<Thing>,
    stop: CancellationToken,
    task: JoinHandle<()>,
    registry: berth_telemetry::metrics::Metrics,
}

fn scene(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Scene {
    let (registry, all) = metrics();
    let (store, stop) = (Store::new(&[]), CancellationToken::new());
    let task = tokio::spawn(feed(store.clone(), scripted(script), stop.clone(), all.stores));
    Scene { store, stop, task, registry }
}

impl Scene {
    fn names(&self) -> Vec<String> {
        self.store.all().iter().map(|entry| entry.key.name.to_string()).collect()
    }

    fn completeness(&self) -> Completeness {
        self.store.completeness(&home())
    }
}

fn home() -> berth_core::ClusterName {
    berth_core::ClusterName::home()
}

fn is_watch(request: &Request) -> bool {
    request.query.contains_key("watch")
}

fn list(version: u64, next: &str, things: &[Thing]) -> Reply {
    let metadata = json!({ "resourceVersion": version.to_string(), "continue": next });
    Reply::Json(
        200,
        json!({ "kind": "ThingList", "apiVersion": "test.berth/v1", "metadata": metadata, "items": things }),
    )
}

fn event(what: &str, thing: &Thing) -> Value {
    json!({ "type": what, "object": thing })
}

/// A watch that sends these events and then stays open.
fn watch(events: &[Value], open: &Mutex<Vec<mpsc::UnboundedSender<Value>>>) -> Reply {
    let (sender, lines) = mpsc::unbounded_channel();
    for event in events {
        sender.send(event.clone()).unwrap();
    }
    open.lock().push(sender);
    Reply::Watch(lines)
}

#[tokio::test(start_paused = true)]
async fn pages_and_events_arrive_in_the_store() {
    let open = Mutex::default();
    let scene = scene(move |request| match request.query.get("continue").map(String::as_str) {
        _ if is_watch(request) => {
            watch(&[event("ADDED", &thing("c", "c", 11)), event("DELETED", &thing("a", "a", 12))], &open)
        }
        Some("more") => list(10, "", &[thing("b", "b", 4)]),
        _ => list(10, "more", &[thing("a", "a", 3)]),
    });
    scene.store.synced(&home()).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.names(), ["b", "c"]);
    assert_eq!(scene.completeness(), Completeness::Complete);
    sleep(HOUSEKEEPING).await;
    let text = scene.registry.render();
    assert!(text.contains(r#"berth_store_objects{cluster="home",kind="Thing"} 2"#), "{text}");
    assert!(text.contains(r#"berth_store_complete{cluster="home",kind="Thing"} 1"#), "{text}");
    scene.stop.cancel();
    scene.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_is_tried_again_and_the_reason_is_known() {
    let (tries, open) = (AtomicUsize::new(0), Mutex::default());
    let scene = scene(move |request| match tries.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Reply::error(403, "Forbidden", "things.test.berth is forbidden"),
        _ if is_watch(request) => watch(&[], &open),
        _ => list(10, "", &[thing("a", "a", 3)]),
    });
    sleep(Duration::from_millis(100)).await;
    let Completeness::Partial { why } = scene.completeness() else { panic!("complete") };
    assert!(why.contains("things.test.berth is forbidden"), "{why}");
    scene.store.synced(&home()).await;
    assert_eq!(scene.completeness(), Completeness::Complete);
    let text = scene.registry.render();
    assert!(text.contains(r#"berth_watch_failures_total{cluster="home",kind="Thing"} 2"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_hangs_is_given_up_and_tried_again() {
    let (tries, open) = (AtomicUsize::new(0), Mutex::default());
    let scene = scene(move |request| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::Hang,
        _ if is_watch(request) => watch(&[], &open),
        _ => list(10, "", &[]),
    });
    timeout(READ_DEADLINE + Duration::from_secs(1), scene.store.synced(&home())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_idle_watch_counts_as_working_again_when_the_server_answers() {
    let (watches, open) = (AtomicUsize::new(0), Mutex::default());
    let scene = scene(move |request| match is_watch(request) {
        true if watches.fetch_add(1, Ordering::Relaxed) == 0 => Reply::Cut,
        true => watch(&[], &open),
        false => list(10, "", &[thing("a", "a", 3)]),
    });
    scene.store.synced(&home()).await;
    sleep(Duration::from_secs(1)).await;
    assert_ne!(scene.completeness(), Completeness::Complete, "it is unknown whether the watch works");
    assert_eq!(scene.names(), ["a"], "known objects stay");
    sleep(quiet(1) + Duration::from_secs(1)).await;
    assert_eq!(scene.completeness(), Completeness::Complete);
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_not_accepted_are_shown_until_they_are() {
    let (tries, open) = (AtomicUsize::new(0), Mutex::default());
    let scene = scene(move |request| match tries.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Reply::error(401, "Unauthorized", "Unauthorized"),
        _ if is_watch(request) => watch(&[], &open),
        _ => list(10, "", &[]),
    });
    sleep(Duration::from_millis(100)).await;
    let Completeness::Partial { why } = scene.completeness() else { panic!("complete") };
    assert!(why.contains("does not accept our credentials (401): renew the token"), "{why}");
    assert!(scene.registry.render().contains(r#"berth_cluster_credentials_accepted{cluster="home"} 0"#));
    scene.store.synced(&home()).await;
    assert!(scene.registry.render().contains(r#"berth_cluster_credentials_accepted{cluster="home"} 1"#));
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_lists_anew_and_finds_what_has_gone() {
    let (lists, open) = (AtomicUsize::new(0), Mutex::default());
    let expired = json!({ "type": "ERROR", "object": { "kind": "Status", "code": 410, "reason": "Expired", "message": "too old" } });
    let scene = scene(move |request| match (is_watch(request), lists.load(Ordering::Relaxed)) {
        (true, 1) => watch(std::slice::from_ref(&expired), &open),
        (true, _) => watch(&[], &open),
        (false, _) if lists.fetch_add(1, Ordering::Relaxed) == 0 => {
            list(10, "", &[thing("a", "a", 3), thing("b", "b", 4)])
        }
        (false, _) => list(20, "", &[thing("b", "b", 4)]),
    });
    scene.store.synced(&home()).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((scene.names(), scene.completeness()), (vec!["b".to_owned()], Completeness::Complete));
}

#[tokio::test(start_paused = true)]
async fn a_fresh_read_is_made_at_once_and_until_then_the_cluster_is_not_synced() {
    let (lists, open) = (AtomicUsize::new(0), Mutex::default());
    let scene = scene(move |request| match lists.fetch_add(usize::from(!is_watch(request)), Ordering::Relaxed) {
        _ if is_watch(request) => watch(&[], &open),
        0 => list(10, "", &[thing("a", "a", 3)]),
        _ => list(20, "", &[thing("b", "b", 14)]),
    });
    scene.store.wait_until_synced().await;
    scene.store.relist();
    let why = scene.store.require_synced(&home()).unwrap_err().to_string();
    assert!(why.ends_with("it is read anew after a change of the leader"), "{why}");
    assert_eq!(scene.names(), ["a"], "known objects stay");
    timeout(Duration::from_millis(10), scene.store.wait_until_synced()).await.unwrap();
    assert_eq!(scene.names(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn one_malformed_object_does_not_stop_the_others() {
    let open = Mutex::default();
    let invalid =
        json!({ "metadata": { "name": "x", "uid": "x", "resourceVersion": "11" }, "spec": { "size": "much" } });
    let events = [json!({ "type": "ADDED", "object": invalid }), event("ADDED", &thing("b", "b", 12))];
    let scene = scene(
        move |request| if is_watch(request) { watch(&events, &open) } else { list(10, "", &[thing("a", "a", 3)]) },
    );
    scene.store.synced(&home()).await;
    sleep(HOUSEKEEPING * 2).await;
    assert_eq!((scene.names(), scene.store.invalid_entries().len()), (vec!["a".to_owned(), "b".to_owned()], 1));
    let text = scene.registry.render();
    assert!(text.contains(r#"berth_store_invalid_objects{cluster="home",kind="Thing"} 1"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn objects_in_doubt_are_settled_periodically() {
    let open = Mutex::default();
    let scene = scene(move |request| match request.path.strip_prefix("/apis/test.berth/v1/things/") {
        Some(name) => Reply::not_found(name),
        None if is_watch(request) => watch(&[], &open),
        None => list(10, "", &[]),
    });
    scene.store.synced(&home()).await;
    let key = ObjectKey::new(home(), "a");
    crate::testing::doubtful(&scene.store, &key);
    assert!(scene.store.in_doubt(&key));
    sleep(HOUSEKEEPING * 2).await;
    assert!(!scene.store.in_doubt(&key));
}

mod absent;
mod outages;
