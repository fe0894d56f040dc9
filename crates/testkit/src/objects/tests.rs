//! The rules of writes, on Reservations, and the kept history.

use berth_crds::{Reservation, testing};
use berth_telemetry::clock::SystemClock;
use kube::Resource;

use super::*;
use crate::kinds;
use crate::request::Query;

const A: (&str, &str) = ("", "commitment-uuid-1-0");

fn path() -> String {
    Reservation::url_path(&(), None)
}

fn with_a(finalizers: &[&str]) -> Objects {
    let mut all = Objects::new(Arc::new(SystemClock));
    kinds::all().unwrap().iter().for_each(|kind| all.install(kind));
    let mut a = json!(testing::slot("uuid-1", 0));
    a["metadata"]["finalizers"] = json!(finalizers);
    all.create(&path(), "", a, Mode::Sent).unwrap();
    all
}

fn change(all: &mut Objects, endpoint: Endpoint, patch: &Value) -> Result<Object, Refusal> {
    all.update(&path(), A, endpoint, Change::Merge(patch), Mode::Sent)
}

fn meta<'a>(object: &'a Object, key: &str) -> &'a Value {
    &object.value["metadata"][key]
}

fn host(name: &str) -> Value {
    json!({ "spec": { "targetHost": name } })
}

#[test]
fn a_new_object_gets_what_the_server_gives_and_exists_once() {
    let mut all = with_a(&[]);
    let a = all.get(&path(), A.0, A.1).unwrap().clone();
    assert_eq!((meta(&a, "generation"), meta(&a, "resourceVersion")), (&json!(1), &json!("1")));
    assert_eq!(meta(&a, "uid"), "00000000-0000-4000-8000-000000000001");
    assert!(meta(&a, "creationTimestamp").as_str().unwrap().parse::<Timestamp>().is_ok());
    assert!(a.value["metadata"].get("finalizers").is_none());
    let again = json!(testing::slot("uuid-1", 0));
    assert_eq!(all.create(&path(), "", again, Mode::Sent).unwrap_err().reason, "AlreadyExists");
    assert_eq!(all.get(&path(), "", "b").unwrap_err().body()["details"]["name"], "b");
}

#[test]
fn names_are_made_by_counting() {
    let mut all = with_a(&[]);
    let names: Vec<_> = (0..2)
        .map(|_| {
            let mut object = json!(testing::slot("uuid-1", 0));
            object["metadata"] = json!({ "generateName": "a-" });
            meta(&all.create(&path(), "", object, Mode::Sent).unwrap(), "name").clone()
        })
        .collect();
    assert_eq!(names, ["a-bbbbd", "a-bbbbg"]);
}

#[test]
fn the_generation_counts_changes_of_the_spec_only_and_nothing_changes_by_nothing() {
    let mut all = with_a(&[]);
    let labels = json!({ "metadata": { "labels": { "x": "1" } }, "status": { "host": "lost" } });
    let a = change(&mut all, Endpoint::Main, &labels).unwrap();
    assert_eq!((meta(&a, "generation"), meta(&a, "resourceVersion")), (&json!(1), &json!("2")));
    assert_eq!(meta(&change(&mut all, Endpoint::Main, &labels).unwrap(), "resourceVersion"), "2");
    let a = change(&mut all, Endpoint::Status, &json!({ "status": { "host": "h" } })).unwrap();
    assert_eq!((meta(&a, "generation"), meta(&a, "resourceVersion")), (&json!(1), &json!("3")));
    let a = change(&mut all, Endpoint::Main, &host("h")).unwrap();
    assert_eq!((meta(&a, "generation"), &a.value["status"]), (&json!(2), &json!({ "host": "h" })));
    assert_eq!(all.since(1).count(), 3);
}

#[test]
fn preconditions_are_conflicts() {
    let mut all = with_a(&[]);
    for (wrong, reason) in [(json!({ "uid": "uid-9" }), "Invalid"), (json!({ "resourceVersion": "9" }), "Conflict")] {
        let body = json!({ "metadata": wrong, "spec": { "targetHost": "h" } });
        assert_eq!(change(&mut all, Endpoint::Main, &body).unwrap_err().reason, reason);
        let deletion = all.delete(&path(), A, &Preconditions::of(&wrong));
        assert_eq!(deletion.unwrap_err().reason, "Conflict");
    }
    let body = json!({ "metadata": { "resourceVersion": "9" }, "status": { "host": "h" } });
    assert_eq!(change(&mut all, Endpoint::Status, &body).unwrap_err().reason, "Conflict");
    let right = json!({ "uid": "00000000-0000-4000-8000-000000000001", "resourceVersion": "1" });
    assert!(!all.delete(&path(), A, &Preconditions::of(&right)).unwrap().1);
}

#[test]
fn finalizers_keep_an_object_until_the_last_one_goes() {
    let mut all = with_a(&["f"]);
    let (a, stays) = all.delete(&path(), A, &Preconditions::default()).unwrap();
    assert_eq!((meta(&a, "generation"), stays), (&json!(2), true));
    let (again, _) = all.delete(&path(), A, &Preconditions::default()).unwrap();
    assert_eq!(again.value, a.value, "once is enough");
    change(&mut all, Endpoint::Main, &json!({ "metadata": { "finalizers": [] } })).unwrap();
    assert_eq!(all.get(&path(), A.0, A.1).unwrap_err().code, 404);
    let last = all.since(0).last().unwrap();
    assert_eq!((last.happened, last.version), (Happened::Deleted, 3));
}

#[test]
fn old_states_are_known_until_they_are_forgotten() {
    let mut all = with_a(&[]);
    change(&mut all, Endpoint::Main, &host("h")).unwrap();
    all.delete(&path(), A, &Preconditions::default()).unwrap();
    let exact = |version: u64| Query {
        version: Some(version.to_string()),
        version_match: Some("Exact".to_owned()),
        ..Query::default()
    };
    let list = |all: &Objects, query: &Query| {
        let page = all.list(&Wanted { kind: &path(), namespace: "", query, stale: 0 })?;
        Ok::<_, Refusal>(page.items.iter().map(|one| one.value["spec"]["targetHost"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(list(&all, &exact(1)).unwrap(), [Value::Null]);
    assert_eq!(list(&all, &exact(2)).unwrap(), ["h"]);
    assert!(list(&all, &exact(3)).unwrap().is_empty());
    all.trim(1);
    assert_eq!(list(&all, &exact(1)).unwrap_err().code, 410);
    assert_eq!(list(&all, &exact(2)).unwrap(), ["h"]);
}
