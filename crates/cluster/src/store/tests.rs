//! What readers and subscribers see of the store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use serde_json::json;

use super::*;
use crate::testing::{Thing, applied, applied_raw, deleted, failing, filled, thing};

const BY_HOST: Index<Thing> = Index { name: "host", keys: |thing| thing.spec.host.clone().into_iter().collect() };
const BY_SIZE: Index<Thing> = Index { name: "size", keys: |thing| vec![thing.spec.size.to_string()] };

fn home() -> ClusterName {
    ClusterName::home()
}

fn on(name: &str, version: u64, host: &str) -> Thing {
    let mut thing = thing(name, name, version);
    thing.spec.host = Some(host.to_owned());
    thing
}

fn names<K>(entries: &[Entry<K>]) -> Vec<String> {
    entries.iter().map(|entry| entry.key.to_string()).collect()
}

#[test]
fn entries_and_selections_are_ordered_by_cluster_and_name() {
    let store = filled(&[BY_HOST], &home(), [on("b", 1, "h1"), on("a", 2, "h1"), on("c", 3, "h2"), on("d", 4, "")]);
    applied(&store, &"away".into(), on("z", 1, "h1"));
    assert_eq!(names(&store.all()), ["away/z", "home/a", "home/b", "home/c", "home/d"]);
    assert_eq!(names(&store.select(&BY_HOST, "h1")), ["away/z", "home/a", "home/b"]);
    assert!(store.select(&BY_HOST, "").is_empty(), "an empty value is not indexed");
    assert_eq!(names(&store.select(&BY_SIZE, "1")).len(), 5, "an undeclared index works, slowly");
}

#[test]
fn an_index_follows_changes_and_deletions() {
    let store = filled(&[BY_HOST], &home(), [on("a", 1, "h1")]);
    applied(&store, &home(), on("a", 2, "h2"));
    assert!(store.select(&BY_HOST, "h1").is_empty());
    assert_eq!(names(&store.select(&BY_HOST, "h2")), ["home/a"]);
    deleted(&store, &home(), on("a", 3, "h2"));
    assert!(store.select(&BY_HOST, "h2").is_empty() && store.is_empty());
}

#[test]
fn a_store_keeps_of_an_object_what_its_reduction_leaves() {
    let store: Store<Thing> = Store::reduced(&[BY_HOST], |thing| thing.spec.host = None);
    store.join(&home());
    store.init(&home());
    store.listed(&home(), DecodeGuard::Valid(on("listed", 1, "h1")));
    store.init_done(&home());
    applied(&store, &home(), on("applied", 2, "h1"));
    let key = |name: &str| ObjectKey::new(home(), name);
    let answer = store.sending(&key("written")).wrote(DecodeGuard::Valid(on("written", 3, "h1"))).unwrap();
    store.asking(&key("read")).found(Some(DecodeGuard::Valid(on("read", 4, "h1"))));
    assert!(answer.spec.host.is_none() && store.select(&BY_HOST, "h1").is_empty());
    assert_eq!(names(&store.all()), ["home/applied", "home/listed", "home/read", "home/written"]);
    store.replace(&home(), vec![DecodeGuard::Valid(on("replaced", 1, "h1"))]);
    assert_eq!((names(&store.all()), store.select(&BY_HOST, "h1").len()), (vec!["home/replaced".to_owned()], 0));
}

#[test]
fn listeners_hear_changes_in_order_and_may_read() {
    let store = filled(&[BY_HOST], &home(), [on("a", 1, "h1")]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    for listener in ["first", "second"] {
        let (reader, heard) = (store.clone(), heard.clone());
        store.on_state(move |change| {
            assert_eq!(reader.get(&change.key), change.new);
            let host = |thing: &Option<Arc<Thing>>| thing.as_ref().and_then(|thing| thing.spec.host.clone());
            heard.lock().push((listener, host(&change.old), host(&change.new)));
        });
    }
    applied(&store, &home(), on("a", 2, "h2"));
    deleted(&store, &home(), on("a", 3, "h2"));
    let (h1, h2) = (Some("h1".to_owned()), Some("h2".to_owned()));
    let moved = |listener| (listener, h1.clone(), h2.clone());
    let gone = |listener| (listener, h2.clone(), None);
    assert_eq!(*heard.lock(), [moved("first"), moved("second"), gone("first"), gone("second")]);
}

#[test]
fn listeners_that_keep_state_hear_a_change_before_those_that_enqueue_keys_whichever_was_registered_first() {
    let store = filled(&[BY_HOST], &home(), []);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let note = |what| {
        let heard = heard.clone();
        move |_: &Change<Thing>| heard.lock().push(what)
    };
    store.on_requests(note("requests"));
    store.on_state(note("state"));
    applied(&store, &home(), on("a", 1, "h1"));
    assert_eq!(*heard.lock(), ["state", "requests"]);
}

#[test]
fn a_change_that_is_none_is_not_reported() {
    let store = filled(&[], &home(), [on("a", 5, "h1")]);
    let heard = Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    store.on_state(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    applied(&store, &home(), on("a", 5, "h1"));
    applied(&store, &home(), on("a", 4, "h0"));
    assert_eq!(heard.load(Ordering::Relaxed), 0);
}

#[test]
fn completeness_reports_why_a_read_is_partial() {
    let store: Store<Thing> = Store::new(&[]);
    let why = |store: &Store<Thing>| store.require_complete(&home()).map(|_| ()).unwrap_err().why;
    assert_eq!(why(&store), "it is not watched");
    store.join(&home());
    assert_eq!(why(&store), "its first list is not complete yet");
    store.init(&home());
    store.init_done(&home());
    assert_eq!(store.completeness(&home()), Completeness::Complete);
    failing(&store, &home(), Some("connection refused"));
    assert_eq!(why(&store), "its watch fails: connection refused");
    failing(&store, &home(), None);
    let raw = json!({ "metadata": { "name": "a", "uid": "a", "resourceVersion": "7" }, "spec": { "size": [] } });
    store.applied(&home(), serde_json::from_value(raw.clone()).unwrap());
    assert!(why(&store).starts_with("a cannot be read: "), "{}", why(&store));
    assert_eq!(*store.invalid_entries()[0].raw, raw);
    assert_eq!(
        store.require_complete(&home()).unwrap_err().to_string(),
        format!("Thing objects of cluster home are not completely known: {}", why(&store))
    );
}

#[test]
fn a_complete_read_is_about_one_cluster() {
    let store = filled(&[BY_HOST], &home(), [on("a", 1, "h1")]);
    applied(&store, &"away".into(), on("z", 1, "h1"));
    let complete = store.require_complete(&home()).unwrap();
    assert_eq!(
        (names(&complete.all()), names(&complete.select(&BY_HOST, "h1"))),
        (vec!["home/a".to_owned()], vec!["home/a".to_owned()])
    );
    assert!(complete.get("z").is_none());
    assert!(store.require_complete(&"away".into()).is_err(), "never listed");
}

#[tokio::test]
async fn a_cluster_that_is_away_does_not_keep_another_from_being_synced() {
    let store: Store<Thing> = Store::new(&[]);
    let away = ClusterName::from("away");
    let waiting = |cluster: ClusterName| {
        let store = store.clone();
        tokio::spawn(async move { store.synced(&cluster).await })
    };
    let (synced, never) = (waiting(home()), waiting(away.clone()));
    store.join(&away);
    store.join(&home());
    store.init(&home());
    tokio::task::yield_now().await;
    assert!(!synced.is_finished(), "not listed yet");
    store.init_done(&home());
    synced.await.unwrap();
    assert!(!never.is_finished());
    let all = tokio::spawn({
        let store = store.clone();
        async move { store.wait_until_synced().await }
    });
    store.init(&away);
    tokio::task::yield_now().await;
    assert!(!all.is_finished());
    store.init_done(&away);
    all.await.unwrap();
    never.await.unwrap();
}

#[test]
fn only_a_list_that_began_after_it_was_asked_for_is_a_fresh_read() {
    let store = filled(&[BY_HOST], &home(), [on("a", 1, "h1")]);
    store.init(&home());
    store.relist();
    store.init_done(&home());
    assert!(store.require_synced(&home()).is_err(), "it had started before");
    assert!(store.require_complete(&home()).is_err());
    store.init(&home());
    store.listed(&home(), DecodeGuard::Valid(on("a", 1, "h1")));
    store.init_done(&home());
    assert!(store.require_synced(&home()).is_ok());
    assert_eq!(store.len(), 1);
}

#[test]
fn unreadable_objects_hinder_only_the_decisions_that_they_concern() {
    let store = filled(&[BY_HOST], &home(), [on("a", 1, "h1")]);
    let raw = json!({ "metadata": { "name": "x", "uid": "x", "resourceVersion": "2" }, "spec": { "size": "much" } });
    store.applied(&home(), serde_json::from_value(raw).unwrap());
    assert!(store.require_complete(&home()).is_err());
    assert_eq!(*store.require_complete_for(&home(), |one| &*one.key.name == "y").unwrap().proof().cluster(), home());
    let why = store.require_complete_for(&home(), |one| &*one.key.name == "x").unwrap_err().to_string();
    assert!(why.contains("x cannot be read, correct or delete it: "), "{why}");
    failing(&store, &home(), Some("cut"));
    assert!(store.require_complete_for(&home(), |_| false).is_err());
}

#[test]
fn listeners_hear_when_the_store_follows_a_cluster_again() {
    let store = filled(&[BY_HOST], &home(), [on("a", 1, "h1")]);
    let heard = std::sync::Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    store.on_resynced(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    assert!(store.require_synced(&home()).is_ok());
    failing(&store, &home(), Some("cut"));
    assert!(store.require_synced(&home()).unwrap_err().to_string().ends_with("its watch fails: cut"));
    failing(&store, &home(), Some("still cut"));
    failing(&store, &home(), None);
    applied(&store, &home(), on("a", 2, "h1"));
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    let invalid = |name: &str| json!({ "metadata": { "name": name, "resourceVersion": "3" }, "spec": 1 });
    applied_raw(&store, &home(), invalid("x")).unwrap();
    applied_raw(&store, &home(), invalid("y")).unwrap();
    applied(&store, &home(), on("x", 4, "h1"));
    assert_eq!(heard.load(Ordering::Relaxed), 1, "one object cannot be read yet");
    applied(&store, &home(), on("y", 4, "h1"));
    assert_eq!(heard.load(Ordering::Relaxed), 2, "all objects can be read again");
    assert!(store.require_synced(&"away".into()).is_err(), "no watch feeds it");
}

#[test]
fn a_doubt_is_settled_when_the_listeners_know_why() {
    let (store, key) = (filled(&[BY_HOST], &home(), []), ObjectKey::new(home(), "a"));
    store.sending(&key).unknown();
    store.when_settled(&key, || panic!("it is in doubt"));
    let (called, is_called) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (told, may_go_on) = (Arc::new(AtomicUsize::new(0)), Mutex::new(may_go_on));
    let tell = told.clone();
    store.on_state(move |_| {
        called.send(()).unwrap();
        may_go_on.lock().recv().unwrap();
        tell.fetch_add(1, Ordering::SeqCst);
    });
    thread::scope(|scope| {
        scope.spawn(|| applied(&store, &home(), on("a", 1, "h1")));
        is_called.recv().unwrap();
        assert!(!store.in_doubt(&key), "the listener is still being called");
        let (store, key, told) = (&store, &key, &told);
        let reader = scope.spawn(move || {
            let mut seen = None;
            store.when_settled(key, || seen = Some(told.load(Ordering::SeqCst)));
            seen
        });
        (0..1000).for_each(|_| thread::yield_now());
        go_on.send(()).unwrap();
        assert_eq!(reader.join().unwrap(), Some(1));
    });
}
