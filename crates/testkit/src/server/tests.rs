//! The server behind the real client, and a world that watches it.

use std::time::Duration;

use berth_crds::{Reservation, testing};
use berth_telemetry::clock::TokioClock;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::{Fault, Verb, World};

fn server() -> Server {
    Server::new(Arc::new(TokioClock::new("2026-03-01T08:00:00.5Z".parse().unwrap())))
}

fn api(server: &Server) -> Api<Reservation> {
    Api::all(server.cluster().client)
}

fn slot(number: u64) -> Reservation {
    testing::slot("uuid-1", number)
}

async fn patched(api: &Api<Reservation>, name: &str, patch: Value) -> kube::Result<Reservation> {
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
}

fn code(result: kube::Result<Reservation>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_real_client_creates_reads_changes_and_deletes() {
    let server = server();
    let api = api(&server);
    let name = "commitment-uuid-1-0";
    let made = api.create(&PostParams::default(), &slot(0)).await.unwrap();
    assert_eq!(made.metadata.creation_timestamp.unwrap().0.to_string(), "2026-03-01T08:00:00Z");
    assert_eq!(code(api.create(&PostParams::default(), &slot(0)).await), 409);
    patched(&api, name, json!({ "spec": { "targetHost": "h" } })).await.unwrap();
    let status = Patch::Merge(json!({ "status": { "host": "h" } }));
    api.patch_status(name, &PatchParams::default(), &status).await.unwrap();
    let read = api.get(name).await.unwrap();
    assert_eq!((read.spec.target_host.as_deref(), read.metadata.generation), (Some("h"), Some(2)));
    assert_eq!(read.status.unwrap().host.as_deref(), Some("h"));
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
    assert!(api.delete(name, &DeleteParams::default()).await.unwrap().is_right());
    let Err(kube::Error::Api(status)) = api.get(name).await else { panic!("the object is gone") };
    assert_eq!((status.code, status.details.unwrap().name.as_str()), (404, name));
    let id = format!("reservations/{name}");
    let lines = ["create", "create", "patch", "status", "delete"].map(|verb| format!("{verb} {id}"));
    assert_eq!(server.take_log(), lines);
}

#[tokio::test(start_paused = true)]
async fn faults_change_something_only_when_just_the_answer_is_lost() {
    let server = server();
    let (api, path, name) = (api(&server), path_of::<Reservation>(""), "commitment-uuid-1-0");
    server.create(&slot(0)).unwrap();
    for (fault, expected) in [(Fault::Conflict, 409), (Fault::Forbidden, 403), (Fault::Internal, 500)] {
        server.fail(Verb::Patch, &path, 1, fault);
        assert_eq!(code(patched(&api, name, json!({ "spec": { "targetHost": "h" } })).await), expected);
    }
    server.fail(Verb::Patch, &path, 1, Fault::Hang);
    let hanging = patched(&api, name, json!({ "spec": { "targetHost": "h" } }));
    assert!(timeout(Duration::from_secs(60), hanging).await.is_err());
    assert_eq!(server.version(), 1);
    server.fail(Verb::Patch, &path, 1, Fault::LoseAnswer);
    let lost = patched(&api, name, json!({ "spec": { "targetHost": "h" } })).await;
    assert!(matches!(lost, Err(kube::Error::Service(_))), "{lost:?}");
    assert_eq!(server.get::<Reservation>(name).unwrap().spec.target_host.as_deref(), Some("h"));
}

#[tokio::test(start_paused = true)]
async fn a_hook_runs_before_its_write_and_may_change_anything() {
    let server = server();
    let api = api(&server);
    server.create(&slot(0)).unwrap();
    server.before(Verb::Patch, &path_of::<Reservation>(""), 1, |server| {
        server.edit::<Reservation>("commitment-uuid-1-0", &json!({ "spec": { "targetHost": "hand" } })).unwrap();
    });
    let with_version = json!({ "metadata": { "resourceVersion": "1" }, "spec": { "targetHost": "h" } });
    assert_eq!(code(patched(&api, "commitment-uuid-1-0", with_version).await), 409);
    assert_eq!(server.log().len(), 1, "the hook's writes are not logged");
}

#[tokio::test(start_paused = true)]
async fn after_the_last_write_nothing_is_answered_until_it_heals() {
    let server = server();
    let api = api(&server);
    server.stop_after(1);
    let never = timeout(Duration::from_secs(60), api.create(&PostParams::default(), &slot(0))).await;
    assert!(never.is_err());
    server.stopped().await;
    assert!(timeout(Duration::from_secs(60), api.get("commitment-uuid-1-0")).await.is_err());
    server.heal();
    assert!(api.get("commitment-uuid-1-0").await.is_ok(), "the last write has taken effect");
}

#[tokio::test(start_paused = true)]
async fn a_world_follows_what_happens() {
    let server = server();
    server.create(&slot(0)).unwrap();
    let world = World::new(&server);
    world.list().unwrap();
    assert_eq!(world.stores.reservations.len(), 1);
    server.create(&slot(1)).unwrap();
    server.delete::<Reservation>("commitment-uuid-1-0").unwrap();
    assert_eq!(world.stores.reservations.len(), 1);
    world.deliver().unwrap();
    let names: Vec<_> = world.stores.reservations.all().iter().map(|entry| entry.key.name.to_string()).collect();
    assert_eq!(names, ["commitment-uuid-1-1"]);
}
