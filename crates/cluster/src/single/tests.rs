//! A `ConfigMap` and a Secret over a scripted API server, on paused time.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::ErrorClass;
use crate::testing::{Reply, Request, scripted};

fn map(version: u64, value: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": { "key": value },
        "metadata": { "name": "ours", "namespace": "berth", "uid": "u", "resourceVersion": version.to_string() },
    }))
    .unwrap()
}

/// The state of the API server, and its requests.
#[derive(Clone, Default)]
struct Server {
    listed: Arc<Mutex<Vec<ConfigMap>>>,
    answer: Arc<Mutex<Option<Reply>>>,
    requests: Arc<Mutex<Vec<Request>>>,
    is_down: Arc<Mutex<bool>>,
    watch: Arc<Mutex<Option<mpsc::UnboundedSender<Value>>>>,
}

impl Server {
    fn reply(&self, request: &Request) -> Reply {
        self.requests.lock().push(request.clone());
        if *self.is_down.lock() {
            return Reply::error(503, "ServiceUnavailable", "down");
        }
        if request.method != "GET" {
            return self.answer.lock().take().unwrap_or_else(|| Reply::Json(200, request.body.clone()));
        }
        if request.query.contains_key("watch") {
            let (sender, lines) = mpsc::unbounded_channel();
            *self.watch.lock() = Some(sender);
            return Reply::Watch(lines);
        }
        let items = serde_json::to_value(&*self.listed.lock()).unwrap();
        Reply::Json(
            200,
            json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": "10" },
                                 "items": items }),
        )
    }

    fn send(&self, what: &str, object: &ConfigMap) {
        let sender = self.watch.lock();
        sender.as_ref().unwrap().send(json!({ "type": what, "object": object })).unwrap();
    }

    fn writes(&self) -> Vec<Request> {
        self.requests.lock().iter().filter(|request| request.method != "GET").cloned().collect()
    }
}

async fn a_while() {
    sleep(Duration::from_secs(1)).await;
}

fn value(single: &Single<ConfigMap>) -> String {
    match single.get() {
        State::Present(object) => object.data.as_ref().and_then(|data| data.get("key").cloned()).unwrap_or_default(),
        state => state.as_str().to_owned(),
    }
}

async fn synced(listed: &[ConfigMap]) -> (Server, Single<ConfigMap>) {
    let server = Server::default();
    *server.listed.lock() = listed.to_vec();
    let answering = server.clone();
    let single = Single::new(scripted(move |request| answering.reply(request)), "berth", "ours");
    assert_eq!(value(&single), "unknown");
    tokio::spawn(single.feed(CancellationToken::new()));
    single.known().await;
    a_while().await;
    (server, single)
}

#[tokio::test(start_paused = true)]
async fn it_is_absent_then_present_then_absent_and_each_change_is_reported() {
    let (server, single) = synced(&[]).await;
    assert_eq!(value(&single), "absent");
    let mut changes = Box::pin(single.changes());
    changes.next().await.unwrap();
    server.send("ADDED", &map(11, "a"));
    changes.next().await.unwrap();
    assert_eq!(value(&single), "a");
    server.send("MODIFIED", &map(12, "b"));
    changes.next().await.unwrap();
    assert_eq!(value(&single), "b");
    server.send("DELETED", &map(13, "b"));
    changes.next().await.unwrap();
    assert_eq!(value(&single), "absent");
}

#[tokio::test(start_paused = true)]
async fn only_the_one_object_is_asked_for() {
    let (server, _single) = synced(&[]).await;
    let requests = server.requests.lock();
    assert!(requests.len() >= 2);
    for request in requests.iter() {
        assert_eq!(request.path, "/api/v1/namespaces/berth/configmaps");
        let selector = request.query.get("fieldSelector").unwrap();
        assert!(["metadata.name=ours", "metadata.name%3Dours"].contains(&selector.as_str()), "{selector}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_unknown_while_the_watch_fails_and_known_again_afterwards() {
    let (server, single) = synced(&[map(5, "a")]).await;
    *server.is_down.lock() = true;
    server.watch.lock().take();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(value(&single), "unknown");
    *server.listed.lock() = vec![map(9, "b")];
    *server.is_down.lock() = false;
    single.known().await;
    assert_eq!(value(&single), "b");
}

#[tokio::test(start_paused = true)]
async fn a_write_creates_or_replaces_what_was_seen_and_is_visible_at_once() {
    let (server, single) = synced(&[]).await;
    *server.answer.lock() = Some(Reply::Json(201, serde_json::to_value(map(20, "new")).unwrap()));
    single.write(None, &map(0, "new")).await.unwrap();
    assert_eq!(value(&single), "new");
    server.send("ADDED", &map(15, "older"));
    a_while().await;
    assert_eq!(value(&single), "new", "an event that is older than the answer is ignored");

    *server.answer.lock() = Some(Reply::Json(200, serde_json::to_value(map(21, "newer")).unwrap()));
    single.write(Some(&map(20, "new")), &map(0, "newer")).await.unwrap();
    assert_eq!(value(&single), "newer");
    let writes = server.writes();
    let sent = |which: usize, field: &str| writes[which].body["metadata"][field].as_str().map(str::to_owned);
    assert_eq!((writes[0].method.as_str(), sent(0, "resourceVersion")), ("POST", None));
    assert_eq!(writes[1].method, "PUT");
    assert_eq!((sent(1, "resourceVersion").as_deref(), sent(1, "uid").as_deref()), (Some("20"), Some("u")));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_without_a_difference_or_behind_a_closed_fence() {
    let (server, single) = synced(&[map(5, "a")]).await;
    single.write(Some(&map(5, "a")), &map(0, "a")).await.unwrap();
    let error = single.clone().fenced(Fence::closed()).write(Some(&map(5, "a")), &map(0, "b")).await.unwrap_err();
    assert!(matches!(error, WriteError::NotLeader { .. }), "{error}");
    assert_eq!(server.writes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_write_on_an_old_version_is_a_conflict_and_everything_is_read_anew() {
    let (server, single) = synced(&[map(5, "a")]).await;
    *server.listed.lock() = vec![map(9, "theirs")];
    *server.answer.lock() = Some(Reply::error(409, "Conflict", "the object has been modified"));
    let error = single.write(Some(&map(5, "a")), &map(0, "b")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict, "{error}");
    a_while().await;
    assert_eq!(value(&single), "theirs");
}

#[tokio::test(start_paused = true)]
async fn after_a_write_of_unknown_outcome_nothing_is_known_until_it_was_read() {
    let (server, single) = synced(&[map(5, "a")]).await;
    *server.answer.lock() = Some(Reply::Hang);
    let writing = single.clone();
    let write = tokio::spawn(async move { writing.write(Some(&map(5, "a")), &map(0, "b")).await });
    a_while().await;
    *server.listed.lock() = vec![map(9, "b")];
    *server.is_down.lock() = true;
    let error = write.await.unwrap().unwrap_err();
    assert!(matches!(error, WriteError::Unknown { .. }), "{error}");
    a_while().await;
    assert_eq!(value(&single), "unknown");
    *server.is_down.lock() = false;
    single.known().await;
    assert_eq!(value(&single), "b");
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_never_printed() {
    let secret = Secret {
        data: Some(BTreeMap::from([("password".to_owned(), ByteString(b"s3cr3t".to_vec()))])),
        ..Secret::default()
    };
    let single: Single<Secret> = Single::new(scripted(|_| Reply::Hang), "berth", "login");
    single.set(1, State::Present(Arc::new(secret)));
    let text = format!("{single:?} {:?}", single.get());
    assert_eq!(text, r#"Single { object: "Secret/berth/login", state: present, .. } present"#);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_does_not_decode_is_not_quoted() {
    let error = serde_json::from_value::<String>(json!({ "password": "s3cr3t" })).unwrap_err();
    let error = watch_error_of(&watcher::Error::InitialListFailed(kube::Error::SerdeError(error)));
    assert_eq!(error.why, "the object cannot be decoded; correct it");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_does_not_come_back_by_a_late_answer() {
    let (server, single) = synced(&[map(5, "a")]).await;
    server.send("DELETED", &map(30, "a"));
    a_while().await;
    *server.answer.lock() = Some(Reply::Json(200, serde_json::to_value(map(20, "late")).unwrap()));
    single.write(Some(&map(5, "a")), &map(0, "late")).await.unwrap();
    assert_eq!(value(&single), "absent");
}

#[tokio::test(start_paused = true)]
async fn what_is_replaced_and_gone_is_a_conflict_and_a_missing_namespace_is_named() {
    let (server, single) = synced(&[map(5, "a")]).await;
    *server.answer.lock() = Some(Reply::error(404, "NotFound", "configmaps \"ours\" not found"));
    let error = single.write(Some(&map(5, "a")), &map(0, "b")).await.unwrap_err();
    assert!(matches!(error, WriteError::Conflict { .. }), "{error}");
    *server.answer.lock() = Some(Reply::error(404, "NotFound", "namespaces \"berth\" not found"));
    let error = single.write(None, &map(0, "b")).await.unwrap_err();
    assert!(error.to_string().ends_with("there is no namespace berth; create it"), "{error}");
}

#[test]
fn its_rights_are_limited_to_the_name() {
    let needs = crate::needs(
        &Single::<ConfigMap>::writing_rights("berth", "ours"),
        &crate::Routes::home_only(),
        &berth_core::ClusterName::home(),
        "berth",
    );
    let text = format!("{needs:?}");
    assert!(text.contains("ours") && text.contains("configmaps"), "{text}");
}
