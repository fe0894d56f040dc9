//! Each kind of answer from a scripted API server: what was sent, and what the store knows then.

use futures::FutureExt;
use kube::{Client, Config};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use super::*;
use crate::testing::{Reply, Request, Thing, ThingStatus, filled, metrics, scripted, thing};
use crate::write_limiter::WRITES_AT_ONCE;
use crate::{Cluster, ErrorClass, chain};

/// A writer over a store that holds `a` in version 5, and what it sends.
struct Scene {
    writer: Writer<Thing>,
    sent: Arc<Mutex<Vec<Request>>>,
    seen: Thing,
}

fn scene(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Scene {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = sent.clone();
    let cluster = scripted(move |request| {
        log.lock().push(request.clone());
        script(request)
    });
    Scene { sent, ..scene_of(cluster) }
}

fn scene_of(cluster: Cluster) -> Scene {
    let seen = thing("a", "uid-a", 5);
    let store = filled(&[], &ClusterName::home(), [seen.clone()]);
    Scene { writer: Writer::new(store, cluster), sent: Arc::default(), seen }
}

impl Scene {
    fn shown(&self) -> Option<Arc<Thing>> {
        self.writer.store().get(&key())
    }

    fn in_doubt(&self) -> bool {
        self.writer.store().in_doubt(&key())
    }

    async fn move_to(&self, host: &str, guard: Guard) -> Result<Written<Thing>, WriteError> {
        let mut new = self.seen.clone();
        new.spec.host = Some(host.to_owned());
        self.writer.patch(&key(), &self.seen, &new, guard).await
    }

    fn request(&self, which: usize) -> Request {
        self.sent.lock()[which].clone()
    }
}

fn whole() -> CompletenessProof<Thing> {
    crate::testing::completeness_proof(&ClusterName::home())
}

fn key() -> ObjectKey {
    ObjectKey::new(ClusterName::home(), "a")
}

fn object(thing: &Thing) -> Reply {
    Reply::Json(200, serde_json::to_value(thing).unwrap())
}

/// `a` in version 6, on host `h2`.
fn moved() -> Thing {
    let mut thing = thing("a", "uid-a", 6);
    thing.spec.host = Some("h2".to_owned());
    thing
}

#[tokio::test]
async fn a_patch_sends_the_difference_and_the_store_has_the_answer_at_once() {
    let scene = scene(|_| object(&moved()));
    let written = scene.move_to("h2", Guard::Version).await.unwrap();
    assert!(matches!(written, Written::Changed(thing) if Some(&thing) == scene.shown().as_ref()));
    let request = scene.request(0);
    assert_eq!((&*request.method, &*request.path), ("PATCH", "/apis/test.berth/v1/things/a"));
    let body = json!({ "metadata": { "uid": "uid-a", "resourceVersion": "5" }, "spec": { "host": "h2" } });
    assert_eq!(request.body, body);
}

#[tokio::test]
async fn without_a_guard_the_version_is_not_sent_but_the_uid_is() {
    let scene = scene(|_| object(&moved()));
    scene.move_to("h2", Guard::None).await.unwrap();
    assert_eq!(scene.request(0).body["metadata"], json!({ "uid": "uid-a" }));
}

#[tokio::test]
async fn no_difference_sends_nothing() {
    let scene = scene(|_| Reply::Cut);
    assert!(matches!(scene.move_to("h", Guard::Version).await, Ok(Written::Unchanged)));
    let mut new = scene.seen.clone();
    new.metadata.resource_version = Some("99".to_owned());
    assert!(matches!(scene.writer.patch_status(&key(), &scene.seen, &new).await, Ok(Written::Unchanged)));
    assert!(scene.sent.lock().is_empty());
}

#[tokio::test]
async fn a_status_patch_removes_what_is_no_longer_there() {
    let mut scene = scene(|_| object(&moved()));
    scene.seen.status = Some(ThingStatus { host: Some("h".to_owned()) });
    let mut new = scene.seen.clone();
    new.status = Some(ThingStatus::default());
    new.spec.size = 7; // ignored in a status patch
    scene.writer.patch_status(&key(), &scene.seen, &new).await.unwrap();
    let request = scene.request(0);
    assert_eq!(&*request.path, "/apis/test.berth/v1/things/a/status");
    assert_eq!(request.body, json!({ "status": { "host": null } }));
    scene.writer.patch_status_of_version(&key(), &scene.seen, &new).await.unwrap();
    let metadata = json!({ "uid": "uid-a", "resourceVersion": "5" });
    assert_eq!(scene.request(1).body, json!({ "metadata": metadata, "status": { "host": null } }));
}

/// Statuses of `a`, `b` and `c` that become `h2`.
fn statuses(scene: &Scene) -> Vec<StatusChange<Thing>> {
    let change = |name: &str| {
        let old = thing(name, "uid", 5);
        crate::testing::applied(scene.writer.store(), &ClusterName::home(), old.clone());
        let status = Some(ThingStatus { host: Some("h2".to_owned()) });
        let new = Thing { status, ..old.clone() };
        StatusChange { key: ObjectKey::new(ClusterName::home(), name), old: Arc::new(old), new }
    };
    ["a", "b", "c"].map(change).into()
}

#[tokio::test]
async fn an_error_of_one_status_does_not_stop_the_others_and_is_the_result() {
    let scene = scene(|request| match request.path.rsplit('/').nth(1) {
        Some("a") | None => Reply::error(409, "Conflict", "the object has been modified"),
        Some(name) => object(&thing(name, "uid", 6)),
    });
    let written = scene.writer.patch_statuses_of_versions(&statuses(&scene)).await;
    assert!(matches!(written, Err(WriteError::Conflict { .. })), "{written:?}");
    assert_eq!(scene.sent.lock().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_all_statuses_of_a_cluster_would_meet_stops_them() {
    let unavailable = || Reply::error(503, "ServiceUnavailable", "shutting down");
    for (reply, is_expected) in [
        (
            unavailable as fn() -> Reply,
            (|error| matches!(error, WriteError::Unavailable { .. })) as fn(&WriteError) -> bool,
        ),
        (|| Reply::Hang, |error| matches!(error, WriteError::Unknown { .. })),
    ] {
        let asked = Arc::new(Mutex::new(0));
        let count = asked.clone();
        let home = scripted(move |_| {
            *count.lock() += 1;
            reply()
        });
        let remote = Cluster { name: "az-b".into(), ..scripted(|_| object(&thing("c", "uid", 6))) };
        let mut scene = scene(|_| Reply::Cut);
        scene.writer = Writer::new(scene.writer.store().clone(), Clusters::new(home, [remote]));
        let mut changes = statuses(&scene);
        changes[2].key.cluster = "az-b".into();
        crate::testing::applied(scene.writer.store(), &"az-b".into(), thing("c", "uid", 5));
        let error = scene.writer.patch_statuses_of_versions(&changes).await.unwrap_err();
        assert!(is_expected(&error), "{error}");
        assert_eq!(*asked.lock(), 1);
        let written = scene.writer.store().get(&changes[2].key).unwrap();
        assert_eq!(written.metadata.resource_version.as_deref(), Some("6"), "the other cluster answers");
    }
}

#[tokio::test]
async fn statuses_of_a_process_that_does_not_lead_any_more_are_given_up() {
    let (fence, lose) = crate::Fence::held_now();
    let (registry, all) = metrics();
    let mut scene = scene(|_| Reply::Cut);
    scene.writer = scene.writer.clone().counted(all.writes).fenced(fence);
    lose();
    let error = scene.writer.patch_statuses_of_versions(&statuses(&scene)).await.unwrap_err();
    assert!(matches!(error, WriteError::NotLeader { .. }), "{error}");
    let line = r#"berth_writes_total{kind="Thing",outcome="not_leader",verb="patch_status"} 1"#;
    assert!(registry.render().contains(line), "{}", registry.render());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_not_answered_in_time_leaves_the_object_in_doubt_until_it_is_read() {
    let scene = scene(|request| if request.method == "GET" { object(&moved()) } else { Reply::Hang });
    let started_at = Instant::now();
    let error = scene.move_to("h2", Guard::Version).await.unwrap_err();
    assert_eq!((error.class(), started_at.elapsed()), (ErrorClass::Conflict, WRITE_DEADLINE));
    assert!(matches!(error, WriteError::Unknown { .. }), "{error}");
    assert!(scene.in_doubt());
    scene.writer.settle(&key()).await.unwrap();
    assert!(!scene.in_doubt());
    assert_eq!(scene.shown().unwrap().spec.host.as_deref(), Some("h2"));
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_the_object_in_doubt() {
    let scene = scene(|_| Reply::Cut);
    let error = scene.move_to("h2", Guard::Version).await.unwrap_err();
    assert!(matches!(error, WriteError::Unknown { .. }), "{error}");
    assert!(chain(&error).contains("connection reset"), "{error}");
    assert!(scene.in_doubt());
    assert!(scene.writer.settle(&key()).await.is_err());
    assert!(scene.in_doubt(), "an unanswered read ends no doubt");
}

#[tokio::test]
async fn an_unanswered_create_is_in_doubt_although_there_is_no_object() {
    let scene = scene(|request| if request.method == "GET" { Reply::not_found("b") } else { Reply::Cut });
    let b = ObjectKey::new(ClusterName::home(), "b");
    scene.writer.create(&b.cluster, &thing("b", "", 0)).await.unwrap_err();
    assert!(scene.writer.store().in_doubt(&b));
    assert_eq!(scene.writer.store().doubts(), std::slice::from_ref(&b));
    scene.writer.settle(&b).await.unwrap();
    assert!(!scene.writer.store().in_doubt(&b));
}

#[tokio::test]
async fn a_server_that_is_not_there_leaves_nothing_in_doubt() {
    let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let scene = scene_of(Cluster { name: ClusterName::home(), client });
    let error = scene.move_to("h2", Guard::Version).await.unwrap_err();
    assert!(matches!(error, WriteError::Unavailable { .. }), "{error}");
    assert_eq!((error.class(), scene.in_doubt()), (ErrorClass::Transient, false));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_dropped_leaves_the_object_in_doubt() {
    let scene = Arc::new(scene(|_| Reply::Hang));
    let ours = scene.clone();
    let task = tokio::spawn(async move { ours.move_to("h2", Guard::Version).await });
    sleep(Duration::from_secs(1)).await;
    assert!(!scene.in_doubt());
    task.abort();
    task.await.unwrap_err();
    assert!(scene.in_doubt());
}

#[tokio::test]
async fn a_conflict_changes_nothing() {
    let scene = scene(|_| Reply::error(409, "Conflict", "the object has been modified"));
    let error = scene.move_to("h2", Guard::Version).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot change Thing home/a: it has changed since it was read; it is read again");
    assert_eq!((error.class(), scene.in_doubt()), (ErrorClass::Conflict, false));
}

#[tokio::test]
async fn a_status_that_went_to_a_successor_is_decided_anew() {
    let scene = scene(|_| object(&thing("a", "uid-b", 9)));
    let mut new = scene.seen.clone();
    new.status = Some(ThingStatus { host: Some("h2".to_owned()) });
    let error = scene.writer.patch_status(&key(), &scene.seen, &new).await.unwrap_err();
    assert!(matches!(error, WriteError::Conflict { .. }), "{error}");
    assert_eq!(scene.shown().unwrap().metadata.uid.as_deref(), Some("uid-b"));
}

#[tokio::test]
async fn a_refusal_is_for_the_user() {
    let scene = scene(|_| Reply::error(422, "Invalid", "spec.host: must not be h2"));
    let error = scene.move_to("h2", Guard::Version).await.unwrap_err();
    let expected = "cannot change Thing home/a: the API server refuses it (422): spec.host: must not be h2";
    assert_eq!((error.to_string().as_str(), error.class()), (expected, ErrorClass::Permanent));
}

#[tokio::test]
async fn a_patch_of_an_object_that_is_gone_removes_it_from_the_store() {
    let scene = scene(|_| Reply::not_found("a"));
    assert!(matches!(scene.move_to("h2", Guard::Version).await, Ok(Written::Gone)));
    assert!(scene.shown().is_none());
}

#[tokio::test]
async fn a_kind_that_is_not_served_does_not_make_objects_disappear() {
    let scene = scene(|_| Reply::error(404, "NotFound", "the server could not find the requested resource"));
    let error = scene.move_to("h2", Guard::Version).await.unwrap_err();
    assert!(matches!(error, WriteError::NotServed { .. }), "{error}");
    scene.writer.settle(&key()).await.unwrap_err();
    assert!(scene.shown().is_some());
}

#[tokio::test]
async fn an_object_that_exists_already_is_read_and_never_a_success() {
    let other = || thing("b", "uid-b", 8);
    let scene = scene(move |request| match request.method.as_str() {
        "GET" => object(&other()),
        _ => Reply::error(409, "AlreadyExists", "things.test.berth \"b\" already exists"),
    });
    let error = scene.writer.create(&ClusterName::home(), &thing("b", "", 0)).await.unwrap_err();
    assert!(matches!(error, WriteError::AlreadyExists { .. }), "{error}");
    let b = ObjectKey::new(ClusterName::home(), "b");
    assert_eq!(scene.writer.store().get(&b).as_deref(), Some(&other()));
    assert!(!scene.writer.store().in_doubt(&b));
}

#[tokio::test]
async fn an_object_that_exists_already_and_cannot_be_read_is_in_doubt() {
    let scene = scene(|request| match request.method.as_str() {
        "GET" => Reply::Cut,
        _ => Reply::error(409, "AlreadyExists", "things.test.berth \"b\" already exists"),
    });
    scene.writer.create(&ClusterName::home(), &thing("b", "", 0)).await.unwrap_err();
    assert!(scene.writer.store().in_doubt(&ObjectKey::new(ClusterName::home(), "b")));
}

#[tokio::test]
async fn a_deletion_names_the_incarnation_and_with_a_guard_the_version() {
    for (guard, version) in [(Guard::None, None), (Guard::Version, Some("5"))] {
        let scene = scene(|_| Reply::Json(200, json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" })));
        scene.writer.delete(&key(), &scene.seen, guard, &whole()).await.unwrap();
        let preconditions = &scene.request(0).body["preconditions"];
        assert_eq!(preconditions["uid"], "uid-a");
        assert_eq!(preconditions.get("resourceVersion").and_then(Value::as_str), version);
        assert!(scene.shown().is_none());
    }
}

#[tokio::test]
async fn deleting_what_is_gone_is_a_success() {
    let scene = scene(|_| Reply::not_found("a"));
    scene.writer.delete(&key(), &scene.seen, Guard::None, &whole()).await.unwrap();
    assert!(scene.shown().is_none());
}

#[tokio::test]
async fn a_deleted_object_with_finalizers_stays_until_the_last_one_goes() {
    let dying = |finalizers: &[&str]| {
        let mut thing = thing("a", "uid-a", 6);
        thing.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-03-01T08:00:00Z")).unwrap());
        thing.metadata.finalizers = Some(finalizers.iter().map(|f| (*f).to_owned()).collect());
        thing
    };
    let scene = scene(move |request| match request.method.as_str() {
        "DELETE" => object(&dying(&["f"])),
        _ => object(&dying(&[])),
    });
    scene.writer.delete(&key(), &scene.seen, Guard::None, &whole()).await.unwrap();
    let seen = scene.shown().unwrap();
    assert!(seen.metadata.deletion_timestamp.is_some());
    assert!(matches!(scene.writer.remove_finalizer(&key(), &seen, "f").await, Ok(Written::Gone)));
    assert!(scene.shown().is_none());
    let body = json!({ "metadata": { "uid": "uid-a", "resourceVersion": "6", "finalizers": [] } });
    assert_eq!(scene.request(1).body, body);
}

#[tokio::test]
async fn a_finalizer_is_added_once() {
    let scene = scene(|_| object(&moved()));
    let mut seen = scene.seen.clone();
    scene.writer.add_finalizer(&key(), &seen, "f").await.unwrap();
    assert_eq!(scene.request(0).body["metadata"]["finalizers"], json!(["f"]));
    seen.metadata.finalizers = Some(vec!["f".to_owned()]);
    assert!(matches!(scene.writer.add_finalizer(&key(), &seen, "f").await, Ok(Written::Unchanged)));
    assert!(matches!(scene.writer.remove_finalizer(&key(), &seen, "g").await, Ok(Written::Unchanged)));
}

#[tokio::test]
async fn an_answer_that_does_not_decode_is_not_in_doubt_but_malformed() {
    let raw =
        json!({ "metadata": { "name": "a", "uid": "uid-a", "resourceVersion": "6" }, "spec": { "size": "much" } });
    let scene = scene(move |_| Reply::Json(200, raw.clone()));
    let error = scene.move_to("h2", Guard::Version).await.unwrap_err();
    assert!(matches!(error, WriteError::Malformed { .. }), "{error}");
    assert_eq!(scene.shown().as_deref(), Some(&scene.seen));
    assert_eq!((scene.in_doubt(), scene.writer.store().invalid_entries().len()), (false, 1));
}

#[tokio::test]
async fn an_unknown_cluster_and_an_object_without_uid_are_reported_plainly() {
    let scene = scene(|_| Reply::Cut);
    let error = scene.writer.settle(&ObjectKey::new("away".into(), "a")).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot read Thing away/a: cluster away is not configured");
    let error = scene.writer.delete(&key(), &Thing::default(), Guard::None, &whole()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot delete Thing home/a: the object that was read has no uid");
    let elsewhere = crate::testing::completeness_proof(&"away".into());
    let error = scene.writer.delete(&key(), &scene.seen, Guard::None, &elsewhere).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot delete Thing home/a: it was decided on a read of cluster away");
}

#[tokio::test]
async fn outcomes_are_counted() {
    let scene = scene(|_| object(&moved()));
    let (registry, all) = metrics();
    let writer = scene.writer.clone().counted(all.writes);
    let counted = Scene { writer, ..scene };
    counted.move_to("h2", Guard::None).await.unwrap();
    let text = registry.render();
    assert!(text.contains(r#"berth_writes_total{kind="Thing",outcome="ok",verb="patch"} 1"#), "{text}");
}

#[tokio::test]
async fn a_name_that_another_cluster_has_is_not_created_a_second_time() {
    let (registry, all) = metrics();
    let scene = scene(|request| Reply::Json(201, request.body.clone()));
    let writer = scene.writer.clone().counted(all.writes);
    crate::testing::applied(writer.store(), &"az-b".into(), thing("new", "uid-b", 1));
    let error = writer.create(&ClusterName::home(), &thing("new", "", 0)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot create test.berth/v1, Kind=Thing /new: already exists on another cluster (az-b); delete the one that is \
         in the wrong cluster"
    );
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert!(scene.sent.lock().is_empty(), "nothing was sent");
    let text = registry.render();
    assert!(text.contains(r#"name_conflicts_total{gvk="test.berth/v1, Kind=Thing",method="create"} 1"#), "{text}");

    let duplicate = writer.store().get(&ObjectKey::new("az-b".into(), "new")).unwrap();
    crate::testing::deleted(writer.store(), &"az-b".into(), Thing::clone(&duplicate));
    writer.create(&ClusterName::home(), &thing("new", "uid", 9)).await.unwrap();
}

#[tokio::test]
async fn who_does_not_lead_sends_nothing_and_doubts_nothing() {
    let (fence, lose) = crate::Fence::held_now();
    let (registry, all) = metrics();
    let mut scene = scene(|_| object(&moved()));
    scene.writer = scene.writer.clone().counted(all.writes).fenced(fence);
    assert!(matches!(scene.move_to("h2", Guard::None).await, Ok(Written::Changed(_))));
    lose();
    let mut results = vec![scene.move_to("h3", Guard::None).await.map(drop)];
    results.push(scene.writer.create(&ClusterName::home(), &thing("b", "", 0)).await.map(drop));
    results.push(scene.writer.delete(&key(), &scene.seen, Guard::None, &whole()).await);
    results.push(scene.writer.add_finalizer(&key(), &scene.seen, "f").await.map(drop));
    let mut new = scene.seen.clone();
    new.status = Some(ThingStatus::default());
    results.push(scene.writer.patch_status(&key(), &scene.seen, &new).await.map(drop));
    for result in results {
        let error = result.unwrap_err();
        assert!(matches!(error, WriteError::NotLeader { .. }) && error.class() == ErrorClass::Transient, "{error}");
    }
    assert_eq!((scene.sent.lock().len(), scene.in_doubt()), (1, false));
    let line = r#"berth_writes_total{kind="Thing",outcome="not_leader",verb="patch"} 2"#;
    assert!(registry.render().contains(line), "{}", registry.render());
}

#[tokio::test]
async fn a_fence_that_closes_while_a_request_waits_in_the_client_holds_it_back() {
    let (fence, lose) = crate::Fence::held_now();
    let mut scene = scene(|_| object(&moved()));
    scene.writer = scene.writer.clone().fenced(fence);
    let writing = scene.move_to("h2", Guard::None);
    let mut writing = std::pin::pin!(writing);
    assert!(futures::poll!(&mut writing).is_pending());
    lose();
    assert!(matches!(writing.await, Err(WriteError::NotLeader { .. })));
    assert!(scene.sent.lock().is_empty() && !scene.in_doubt());
}

/// As many patches of other objects as a cluster takes at once, and more that have to wait.
async fn crowd(writer: Writer<Thing>, more: usize) -> Vec<Result<Written<Thing>, WriteError>> {
    let patch = async |number: usize| {
        let (old, name) = (thing(&number.to_string(), "uid", 5), number.to_string());
        let mut new = old.clone();
        new.spec.host = Some("h2".to_owned());
        writer.without_limiter().patch(&ObjectKey::new(ClusterName::home(), name), &old, &new, Guard::None).await
    };
    futures::future::join_all((0..WRITES_AT_ONCE + more).map(patch)).await
}

#[tokio::test(start_paused = true)]
async fn so_many_writes_are_under_way_at_once_from_all_writers_together() {
    let scene = scene(|_| Reply::Hang);
    let sent = || scene.sent.lock().len();
    let mut crowd = std::pin::pin!(crowd(scene.writer.clone(), 3));
    let mut in_time = async |deadline| timeout(deadline, &mut crowd).await;
    in_time(WRITE_DEADLINE / 2).await.unwrap_err();
    assert_eq!(sent(), WRITES_AT_ONCE);
    let other = scene.writer.clone().fenced(crate::Fence::held_now().0);
    let home = ClusterName::home();
    let mut waiting = std::pin::pin!(other.with_permit(&home));
    assert!(futures::poll!(&mut waiting).is_pending(), "another writer waits with them");
    in_time(WRITE_DEADLINE).await.unwrap_err();
    assert_eq!(sent(), WRITES_AT_ONCE + 3, "the deadline starts when the write may be sent");
    assert!(waiting.now_or_never().is_some(), "the write may be sent now");
}

#[tokio::test(start_paused = true)]
async fn the_fence_is_asked_when_the_turn_has_come() {
    let (fence, lose) = crate::Fence::held_now();
    let mut scene = scene(|_| Reply::Hang);
    scene.writer = scene.writer.clone().fenced(fence);
    let mut crowd = std::pin::pin!(crowd(scene.writer.clone(), 2));
    timeout(WRITE_DEADLINE / 2, &mut crowd).await.unwrap_err();
    lose();
    let refused = crowd.await.into_iter().filter(|result| matches!(result, Err(WriteError::NotLeader { .. })));
    assert_eq!((refused.count(), scene.sent.lock().len()), (2, WRITES_AT_ONCE));
}

mod unanswered;
