//! Invalid requests to the scheduler API. The real binary answers, says which member is wrong, stays ready, and
//! continues as before.

use std::net::SocketAddr;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::http::{self, Posted};
use crate::support::nova::{PATH, ask, hosts_are_known, only_asks, post, through, wants};
use crate::support::objects::{host, rejectable};
use crate::support::world::World;

/// The size of the largest body in this file.
const LARGEST: usize = 4096;

const DECODE: &str = "failed to decode request body";
const CLASSES: &str = "cortex_scheduler_api_request_duration_seconds_count";

async fn begin() -> World {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    world.use_keys(&json!({ "scheduler": { "maxBodyBytes": LARGEST } }));
    world.start().await;
    hosts_are_known(&world).await;
    world
}

/// A valid request with another value at this place.
fn with(pointer: &str, value: Value) -> String {
    let mut request = wants("vm-1", &["node1"]);
    *request.pointer_mut(pointer).unwrap() = value;
    request.to_string()
}

fn spec(member: &str, value: Value) -> String {
    let mut request = wants("vm-1", &["node1"]);
    request["spec"]["nova_object.data"][member] = value;
    request.to_string()
}

fn flavor(member: &str, value: Value) -> String {
    let place = format!("/spec/nova_object.data/flavor/nova_object.data/{member}");
    with(&place, value)
}

/// Bodies that are no valid requests, and the rest of the error text.
fn invalid_bodies() -> Vec<(String, &'static str)> {
    let good = wants("vm-1", &["node1"]).to_string();
    vec![
        (String::new(), "EOF while parsing"),
        ("garbage".to_owned(), "expected value"),
        (good[..good.len() / 2].to_owned(), ""),
        (format!("{good} {{}}"), "trailing characters"),
        (format!("{good}x"), "trailing characters"),
        ("[]".to_owned(), "expected an object, found a list"),
        ("7".to_owned(), "expected an object, found 7"),
        ("[".repeat(LARGEST), "expected an object, found a list"),
        (format!("{{\"x\":{}", "[".repeat(2000)), ""),
        (spec("num_instances", json!(-1)), "spec.num_instances: expected a whole number from 0, found -1"),
        (spec("num_instances", json!(1.0)), "spec.num_instances: expected a whole number from 0, found 1.0"),
        (spec("instance_uuid", json!(7)), "spec.instance_uuid: expected a text, found 7"),
        (spec("ignore_hosts", json!("a")), "spec.ignore_hosts: expected a list, found the text \"a\""),
        (spec("scheduler_hints", json!([])), "spec.scheduler_hints: expected an object, found a list"),
        (spec("instance_group", json!(1)), "spec.instance_group: expected an object, found 1"),
        (flavor("vcpus", json!("4")), "spec.flavor.vcpus: expected a whole number from 0, found the text \"4\""),
        (flavor("memory_mb", json!(1e30)), "spec.flavor.memory_mb: expected a whole number from 0, found 1e30"),
        (flavor("extra_specs", json!({"a": 1})), "spec.flavor.extra_specs.a: expected a text, found 1"),
        (with("/hosts", json!({})), "hosts: expected a list, found an object"),
        (with("/hosts", json!(["node1"])), "hosts[0]: expected an object, found the text \"node1\""),
        (with("/weights", json!({"node1": "1"})), "weights.node1: expected a number, found the text \"1\""),
        (with("/context/request_id", json!({})), "context.request_id: expected a text, found an object"),
        (through(json!({}), "x").to_string().replace("\"x\"", "1"), "pipeline: expected a text, found 1"),
        (r#"{"options":{"read_only":"true"}}"#.to_owned(), "options.read_only: expected true or false, found the text"),
    ]
}

async fn refused(api: SocketAddr, body: &[u8], status: u16, begins: &str) {
    let posted = http::post(api, PATH, body).await.expect("no answer");
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    plain(&posted, status, begins, &shown);
}

/// Checks that an error is one line of plain text.
fn plain(posted: &Posted, status: u16, begins: &str, what: &str) {
    assert_eq!(posted.status, status, "{what}: {posted:?}");
    assert!(posted.body.starts_with(begins), "{what}: {begins:?} expected in {posted:?}");
    let one_line = posted.body.ends_with('\n') && posted.body.lines().count() == 1;
    assert!(one_line, "{what}: {posted:?}");
    assert_eq!(posted.header("content-type"), Some("text/plain; charset=utf-8"), "{what}: {posted:?}");
}

/// Checks that the operator is ready, serves, and has written nothing.
async fn as_before(world: &World) {
    let ready = world.operator().probe("/readyz").await;
    assert_eq!(ready.as_ref().map(|(status, _)| *status), Some(200), "{ready:?}");
    assert_eq!(ask(world.operator().api(), &only_asks(wants("vm-1", &["node1"]))).await, ["node1"]);
    let log = world.operator().log();
    assert!(!log.contains("panicked") && !log.contains(" ERROR "), "{log}");
}

async fn counted(world: &World, class: &str, status: u16) -> u64 {
    let (class, status) = (format!("error=\"{class}\""), format!("status=\"{status}\""));
    http::sum(&world.operator().metrics().await, CLASSES, &[&class, &status])
}

#[tokio::test]
async fn what_is_no_request_is_refused_with_the_member_that_is_wrong() {
    let world = begin().await;
    let (api, bodies) = (world.operator().api(), invalid_bodies());
    for (body, text) in &bodies {
        refused(api, body.as_bytes(), 400, &format!("{DECODE}: {text}")).await;
    }
    refused(api, b"{\"pipeline\":\"\xff\"}", 400, DECODE).await;
    assert_eq!(counted(&world, DECODE, 400).await, bodies.len() as u64 + 1);
    for (request, text) in [
        (with("/weights", json!({})), "missing weight for host: node1"),
        (with("/hosts", json!([])), "weight assigned to unknown host: node1"),
        (flavor("extra_specs", json!({})), "failed to determine hypervisor type from request data"),
        (
            flavor("extra_specs", json!({"capabilities:hypervisor_type": "ironic"})),
            "failed to determine hypervisor type from request data",
        ),
    ] {
        refused(api, request.as_bytes(), 400, text).await;
    }
    for class in ["missing weight for host", "weight assigned to unknown host"] {
        assert_eq!(counted(&world, class, 400).await, 1, "{class}");
    }
    assert_eq!(counted(&world, "failed to determine hypervisor type from request data", 400).await, 2);
    as_before(&world).await;
    world.end().await;
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_with_its_own_status() {
    let world = begin().await;
    let api = world.operator().api();
    let good = wants("vm-1", &["node1"]);
    let run = "failed to process scheduling decision: ";

    let nowhere = through(good.clone(), "kvm-no-such-pipeline").to_string();
    let text = format!("{run}pipeline not found or not ready: \"kvm-no-such-pipeline\"");
    refused(api, nowhere.as_bytes(), 404, &text).await;
    let mut contradiction = good.clone();
    contradiction["options"] = json!({ "read_only": true });
    let text = format!("{run}read-only runs must not write scheduling history: set SkipHistory=true");
    refused(api, contradiction.to_string().as_bytes(), 422, &text).await;
    assert_eq!(counted(&world, "failed to process scheduling decision", 404).await, 1);
    assert_eq!(counted(&world, "failed to process scheduling decision", 422).await, 1);

    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let posted = http::send(api, method, PATH, 0, b"").await.unwrap();
        plain(&posted, 405, "invalid request method", method);
        assert_eq!(posted.header("allow"), Some("POST"), "{posted:?}");
    }
    assert_eq!(counted(&world, "invalid request method", 405).await, 4);
    for path in ["/", "/scheduler/nova/external/", "/scheduler/nova", "/scheduler/manila/external"] {
        plain(&http::post(api, path, b"{}").await.unwrap(), 404, "no such path", path);
    }

    // A declared length is refused at once, an undeclared one only after it was received.
    plain(&http::send(api, "POST", PATH, LARGEST + 1, b"").await.unwrap(), 413, "request body too large", "declared");
    let large = good.to_string() + &" ".repeat(LARGEST);
    refused(api, large.as_bytes(), 413, "request body too large").await;
    assert_eq!(counted(&world, "request body too large", 413).await, 2);
    let largest = format!("{:<LARGEST$}", only_asks(good).to_string());
    assert_eq!(http::post(api, PATH, largest.as_bytes()).await.unwrap().status, 200);
    as_before(&world).await;
    world.end().await;
}

#[tokio::test]
async fn invalid_requests_from_many_at_once_does_not_keep_nova_and_commitments_from_being_served() {
    let world = begin().await;
    let api = world.operator().api();
    let bodies = invalid_bodies();
    let all = bodies.iter().cycle().take(200);
    let invalid_amount = join_all(all.map(async |(body, _)| http::post(api, PATH, body.as_bytes()).await));
    let (answers, created) = futures::future::join(invalid_amount, world.create(&rejectable("calm-1", 1))).await;
    drop(created);
    let odd: Vec<_> = answers.iter().flatten().filter(|posted| ![400, 503].contains(&posted.status)).collect();
    assert!(odd.is_empty(), "{odd:?}");
    world.accepted("calm-1").await;
    // Requests with the largest possible numbers are valid.
    let mut huge = wants("vm-huge", &["node1"]);
    huge["spec"]["nova_object.data"]["num_instances"] = json!(u64::MAX);
    huge["spec"]["nova_object.data"]["flavor"]["nova_object.data"]["memory_mb"] = json!(u64::MAX);
    huge["spec"]["nova_object.data"]["flavor"]["nova_object.data"]["vcpus"] = json!(u64::MAX);
    let posted = post(api, &huge).await;
    assert_eq!((posted.status, &*posted.body), (200, "{\"hosts\":[]}\n"), "{posted:?}");
    as_before(&world).await;
    world.end().await;
}
