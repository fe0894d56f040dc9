//! Valid and invalid Pipeline objects, and requests that name them. Runs the real binary on a real API server.

use std::time::{Duration, Instant};

use berth_crds::{Pipeline, conditions};
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use crate::support::nova::{ask, hosts_are_known, only_asks, post, through, wants};
use crate::support::objects::{host, non_rejectable, rejectable};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const GENERAL: &str = "kvm-general-purpose-load-balancing";
const OWN: &str = "kvm-own";
const PIPELINES: &str = "pipelines.cortex.cloud";

/// Two hosts of which the first is half full, and no Pipeline.
async fn begin() -> World {
    let world = World::without_operator().await;
    world.raw::<Pipeline>().delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    for name in ["node1", "node2"] {
        world.create(&host(name, 4)).await;
    }
    world.report_vm("node1", "vm-there", 960).await;
    let mut world = world;
    world.start().await;
    hosts_are_known(&world).await;
    world
}

fn object(name: &str, filters: &Value, weighers: &Value) -> Value {
    json!({ "metadata": { "name": name }, "spec": {
        "schedulingDomain": "nova", "type": "filter-weigher", "ignorePreselection": true,
        "filters": filters, "weighers": weighers,
    } })
}

fn steps(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "name": name })).collect()
}

const FILTERS: [&str; 3] = ["filter_status_conditions", "filter_correct_az", "filter_has_enough_capacity"];

/// Full hosts first: the opposite of the compiled-in pipeline.
fn fill_up(name: &str) -> Value {
    let memory = json!([{ "key": "resourceWeights", "floatMapValue": { "memory": 1.0 } }]);
    object(name, &steps(&FILTERS), &json!([{ "name": "kvm_binpack", "params": memory, "multiplier": 1.0 }]))
}

fn question(pipeline: &str) -> Value {
    through(only_asks(wants("vm-1", &["node1", "node2"])), pipeline)
}

/// Waits until requests for a pipeline get these hosts, in this order.
async fn answers(world: &World, pipeline: &str, hosts: [&str; 2]) {
    let body = format!("{}\n", json!({ "hosts": hosts }));
    gets(world, pipeline, 200, &body).await;
}

async fn cannot_be_used(world: &World, pipeline: &str) {
    let text = format!("failed to process scheduling decision: pipeline not found or not ready: \"{pipeline}\"\n");
    gets(world, pipeline, 404, &text).await;
}

async fn gets(world: &World, pipeline: &str, status: u16, body: &str) {
    let api = world.operator().api();
    let answered = until(async || {
        let posted = post(api, &question(pipeline)).await;
        so(posted.status == status && posted.body == body, || format!("{posted:?}"))
    });
    if let Err(bad) = answered.await {
        panic!("{pipeline} is not answered with {status} {body:?} but with {bad}\n{}", world.report().await);
    }
}

/// Waits until the conditions Ready, `AllStepsReady` and `AllStepsIndexed` are these; an empty text means no condition.
async fn reported(world: &World, name: &str, expected: [(&str, &str); 3]) {
    let pipelines = world.api::<Pipeline>();
    let types = [conditions::READY, conditions::pipeline::ALL_STEPS_READY, conditions::pipeline::ALL_STEPS_INDEXED];
    let reported = until(async || {
        let object = pipelines.get(name).await.map_err(|error| error.to_string())?;
        let reported = object.status.unwrap_or_default().conditions;
        for (type_, (status, message)) in types.iter().zip(expected) {
            let found = reported.iter().find(|condition| condition.type_ == *type_);
            let found = found.map_or(("", ""), |found| (found.status.as_str(), found.message.as_str()));
            so(found.0 == status && found.1.starts_with(message), || format!("{type_} is {found:?}"))?;
        }
        Ok::<_, String>(())
    });
    reported.await.unwrap_or_else(|bad| panic!("{name}: {bad}\n{}", world.operator().end_of_log()));
}

/// The columns of `kubectl get pipelines` for an object: domain, type, steps ready, steps known, ready.
async fn columns(world: &World, name: &str) -> Vec<String> {
    let line = world.kubectl(&["get", "pipelines", name, "--no-headers"]).await;
    line.split_whitespace().skip(2).map(str::to_owned).collect()
}

async fn ready(world: &World) -> String {
    let (status, text) = world.operator().probe("/readyz").await.unwrap();
    assert_eq!(status, 200, "{text}");
    text
}

const READY: (&str, &str) = ("True", "pipeline is ready");
const STEPS_READY: (&str, &str) = ("True", "all pipeline steps are ready");
const STEPS_KNOWN: (&str, &str) = ("True", "all pipeline steps are indexed and known by the controller");
const NOT_READY: (&str, &str) = ("False", "one or more filters failed to initialize");

#[tokio::test]
async fn an_object_replaces_the_pipeline_of_its_name_until_it_is_deleted() {
    let world = begin().await;
    answers(&world, GENERAL, ["node2", "node1"]).await;
    world.create_raw::<Pipeline>(fill_up(GENERAL)).await.unwrap();
    answers(&world, GENERAL, ["node1", "node2"]).await;
    // Nova names no pipeline.
    assert_eq!(ask(world.operator().api(), &only_asks(wants("vm-1", &["node1", "node2"]))).await, ["node1", "node2"]);
    reported(&world, GENERAL, [READY, STEPS_READY, STEPS_KNOWN]).await;
    assert_eq!(columns(&world, GENERAL).await, ["nova", "filter-weigher", "True", "True", "True"]);

    let less = json!({ "spec": { "weighers": [{ "name": "kvm_binpack", "multiplier": -1.0,
        "params": [{ "key": "resourceWeights", "floatMapValue": { "memory": 1.0 } }] }] } });
    world.edit::<Pipeline>(GENERAL, less).await;
    answers(&world, GENERAL, ["node2", "node1"]).await;
    world.edit::<Pipeline>(GENERAL, json!({ "spec": fill_up(GENERAL)["spec"] })).await;
    answers(&world, GENERAL, ["node1", "node2"]).await;
    world.delete::<Pipeline>(GENERAL).await;
    answers(&world, GENERAL, ["node2", "node1"]).await;
    ready(&world).await;
    world.end().await;
}

#[tokio::test]
async fn unknown_weighers_and_wrong_ones_are_reported_and_left_out() {
    let world = begin().await;
    let mut object = fill_up(OWN);
    // It is known, and without `enforce` it removes no host.
    object["spec"]["filters"].as_array_mut().unwrap().push(json!({ "name": "filter_quota_enforcement" }));
    let wrong = json!([{ "key": "noSuchOption", "boolValue": true }]);
    object["spec"]["weighers"].as_array_mut().unwrap().extend([
        json!({ "name": "weigher_of_tomorrow" }),
        json!({ "name": "kvm_prefer_smaller_hosts", "params": wrong }),
    ]);
    cannot_be_used(&world, OWN).await;
    world.create_raw::<Pipeline>(object).await.unwrap();
    answers(&world, OWN, ["node1", "node2"]).await;
    let unknown = "pipeline contains 1 unknown steps: [weigher_of_tomorrow]";
    let weigher = "1 weighers failed to initialize: map[kvm_prefer_smaller_hosts:failed to initialize weigher: ";
    reported(&world, OWN, [READY, ("False", weigher), ("False", unknown)]).await;
    assert_eq!(columns(&world, OWN).await, ["nova", "filter-weigher", "False", "False", "True"]);
    world.edit::<Pipeline>(OWN, json!({ "spec": fill_up(OWN)["spec"] })).await;
    reported(&world, OWN, [READY, STEPS_READY, STEPS_KNOWN]).await;
    ready(&world).await;
    world.end().await;
}

#[tokio::test]
async fn a_pipeline_that_cannot_be_used_is_reported_and_not_replaced_by_a_guess() {
    let world = begin().await;
    let option = json!([{ "key": "lockReserved", "stringValue": "yes" }]);
    let wrong_option = json!([{ "name": "filter_has_enough_capacity", "params": option }]);
    let wrong_filter = "1 filters failed to initialize: map[filter_has_enough_capacity:failed to initialize filter: ";
    let twice = steps(&["filter_correct_az", "filter_status_conditions", "filter_correct_az"]);
    let twice_said = "1 filters failed to initialize: map[filter_correct_az:duplicate step \"filter_correct_az\"]";
    for (name, filters, steps_say) in [(GENERAL, wrong_option, wrong_filter), (OWN, twice, twice_said)] {
        world.create_raw::<Pipeline>(object(name, &filters, &json!([]))).await.unwrap();
        cannot_be_used(&world, name).await;
        reported(&world, name, [NOT_READY, ("False", steps_say), ("", "")]).await;
        assert_eq!(columns(&world, name).await, ["nova", "filter-weigher", "False", "False"]);
    }
    let text = until(async || {
        let text = ready(&world).await;
        so(text.contains(GENERAL) && text.contains(OWN), || text)
    });
    text.await.unwrap();
    // Both ways to fix it: correct it, or delete it.
    world.edit::<Pipeline>(OWN, json!({ "spec": fill_up(OWN)["spec"] })).await;
    answers(&world, OWN, ["node1", "node2"]).await;
    reported(&world, OWN, [READY, STEPS_READY, STEPS_KNOWN]).await;
    world.delete::<Pipeline>(GENERAL).await;
    answers(&world, GENERAL, ["node2", "node1"]).await;
    world.end().await;
}

#[tokio::test]
async fn a_misspelt_filter_changes_nothing_and_a_missing_one_sells_no_host_twice() {
    let world = begin().await;
    world.create_raw::<Pipeline>(fill_up(GENERAL)).await.unwrap();
    reported(&world, GENERAL, [READY, STEPS_READY, STEPS_KNOWN]).await;
    let misspelt = steps(&["filter_status_conditions", "filter_correct_az", "filter_has_enough_capacty"]);
    world.edit::<Pipeline>(GENERAL, json!({ "spec": { "filters": misspelt } })).await;
    let text = "1 filters failed to initialize: map[filter_has_enough_capacty:unknown filter]";
    reported(&world, GENERAL, [NOT_READY, ("False", text), STEPS_KNOWN]).await;
    answers(&world, GENERAL, ["node1", "node2"]).await;

    world.edit::<Pipeline>(GENERAL, json!({ "spec": { "filters": [] } })).await;
    reported(&world, GENERAL, [READY, STEPS_READY, STEPS_KNOWN]).await;
    world.create(&non_rejectable("greedy-1", 12)).await;
    let text = format!("pipeline {GENERAL:?} chose host node");
    world.reported("greedy-1", "Reserving", &text).await;
    assert_eq!(world.rest().await.hosts_of("greedy-1"), [""; 0]);
    world.delete::<Pipeline>(GENERAL).await;
    world.reported("greedy-1", "Reserving", "insufficient capacity: 6/12").await;
    world.end().await;
}

#[tokio::test]
async fn commitments_wait_for_a_pipeline_that_cannot_be_used_and_get_slots_soon_after_it_can() {
    let world = begin().await;
    world.create_raw::<Pipeline>(object(GENERAL, &steps(&["filter_correct_az"; 2]), &json!([]))).await.unwrap();
    cannot_be_used(&world, GENERAL).await;
    world.create(&rejectable("waits-1", 1)).await;
    world.reported("waits-1", "Reserving", "").await;
    world.rest().await;
    let started_at = Instant::now();
    world.delete::<Pipeline>(GENERAL).await;
    assert_eq!(world.accepted("waits-1").await.hosts_of("waits-1"), ["node2"]);
    // The first retry comes after 30 s, and later ones much later: the change has enqueued it.
    assert!(started_at.elapsed() < Duration::from_secs(15), "it took {:?}", started_at.elapsed());
    world.end().await;
}

#[tokio::test]
async fn only_objects_count_if_that_is_configured() {
    let mut world = begin().await;
    world.stop().await;
    world.use_keys(&json!({ "scheduler": { "pipelines": "crd" } }));
    world.start().await;
    cannot_be_used(&world, GENERAL).await;
    let reported = until(async || {
        let text = ready(&world).await;
        so(text.contains("there is no Pipeline of Nova: create one"), || text)
    });
    reported.await.unwrap();
    world.create_raw::<Pipeline>(fill_up(GENERAL)).await.unwrap();
    answers(&world, GENERAL, ["node1", "node2"]).await;
    cannot_be_used(&world, "kvm-hana-bin-packing").await;
    world.end().await;
}

#[tokio::test]
async fn objects_of_others_are_left_alone() {
    let world = begin().await;
    let mut manila = fill_up("manila-own");
    manila["spec"]["schedulingDomain"] = json!("manila");
    world.create_raw::<Pipeline>(manila).await.unwrap();
    world.create_raw::<Pipeline>(fill_up(OWN)).await.unwrap();
    reported(&world, OWN, [READY, STEPS_READY, STEPS_KNOWN]).await;
    cannot_be_used(&world, "manila-own").await;
    reported(&world, "manila-own", [("", ""); 3]).await;
    world.end().await;
}

#[tokio::test]
async fn the_kind_goes_and_comes_back() {
    let world = begin().await;
    world.create_raw::<Pipeline>(fill_up(GENERAL)).await.unwrap();
    answers(&world, GENERAL, ["node1", "node2"]).await;
    world.kubectl(&["delete", "crd", "--timeout=30s", PIPELINES]).await;
    answers(&world, GENERAL, ["node2", "node1"]).await;
    ready(&world).await;
    world.install_all().await;
    world.create_raw::<Pipeline>(fill_up(GENERAL)).await.unwrap();
    answers(&world, GENERAL, ["node1", "node2"]).await;
    reported(&world, GENERAL, [READY, STEPS_READY, STEPS_KNOWN]).await;
    ready(&world).await;
    world.end().await;
}
