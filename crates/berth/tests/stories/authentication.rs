//! Callers show tokens of Keystone: the LIQUID API of the operator, and `berth placement`. Runs the real binary against a double
//! of Keystone.

use std::fs;
use std::net::SocketAddr;

use berth_testkit::keystone::{Keystone, KeystoneFault, USER};
use serde_json::{Value, json};

use crate::placement::Placement;
use crate::support::command::berth;
use crate::support::http::{self, Posted, send};
use crate::support::keystone::{create_secret, grant_secret, secret_ref};
use crate::support::objects::{GROUP, SLOT_GIB, ZONE, host};
use crate::support::replicas::{Replicas, TWO};
use crate::support::vm_table::VmFile;
use crate::support::waiting::{so, until};
use crate::support::world::World;

const PASSWORD: &str = "the-password-of-keystone";
const LIMES: &str = "gAAAAA-limes";
const VIEWER: &str = "gAAAAA-viewer";
const CUSTOMER: &str = "gAAAAA-customer";
const INFO: &str = "/commitments/v1/info";
const CHANGE: &str = "/commitments/v1/change-commitments";

async fn keystone() -> Keystone {
    let keystone = Keystone::start(PASSWORD).await.unwrap();
    keystone.issue_token(LIMES, "limes", "service", &["cloud_resource_admin"]);
    keystone.issue_token(VIEWER, "viewer", "audit", &["cloud_resource_viewer"]);
    keystone.issue_token(CUSTOMER, "customer", "p-1", &["member", "reader"]);
    keystone
}

/// Sends the head of a request, which announces a body that does not follow.
async fn ask(address: SocketAddr, method: &str, path: &str, token: Option<&str>) -> Posted {
    let path = match token {
        Some(token) => with_header(path, &format!("X-Auth-Token: {token}")),
        None => path.to_owned(),
    };
    let declared = if method == "GET" { 0 } else { 1000 };
    send(address, method, &path, declared, b"").await.unwrap_or_else(|| panic!("no answer to {method} {path}"))
}

/// The rest of the first line becomes an unused header.
fn with_header(path: &str, header: &str) -> String {
    format!("{path} HTTP/1.1\r\n{header}\r\nX-Rest:")
}

async fn statuses(api: SocketAddr, token: Option<&str>) -> [u16; 2] {
    [ask(api, "GET", INFO, token).await.status, ask(api, "POST", CHANGE, token).await.status]
}

/// A cloud whose operators authenticate their callers, before any of them runs.
async fn prepare(keystone: &Keystone, more: &Value) -> World {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    create_secret(&world, keystone, PASSWORD).await;
    grant_secret(&world).await;
    let ram = json!({ "ramUnitGiB": SLOT_GIB, "handlesCommitments": true, "hasCapacity": true });
    let mut keys = json!({
        "keystoneSecretRef": secret_ref(),
        "committedResourceAPI": { "flavorGroupResourceConfig": { GROUP: { "ram": ram } } },
    });
    keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.use_keys(&keys);
    world
}

async fn begin(keystone: &Keystone, keys: &Value) -> World {
    let mut world = prepare(keystone, keys).await;
    world.start().await;
    let api = world.operator().api();
    let published = until(async || {
        let answer = ask(api, "GET", INFO, Some(LIMES)).await;
        so(answer.status == 200, || format!("{answer:?}"))
    });
    published.await.unwrap_or_else(|bad| panic!("{bad}\n{}", world.operator().end_of_log()));
    world
}

#[tokio::test]
async fn limes_is_let_in_with_its_token_and_others_are_refused_before_their_body_is_read() {
    let keystone = keystone().await;
    let table = VmFile::create();
    let world = begin(&keystone, &json!({ "vmSourceSqlite": table.path() })).await;
    let api = world.operator().api();
    for (token, expected) in
        [(None, [401; 2]), (Some("made-up"), [401; 2]), (Some(CUSTOMER), [403; 2]), (Some(VIEWER), [200, 403])]
    {
        assert_eq!(statuses(api, token).await, expected, "{token:?}");
    }

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, LIMES).unwrap();
    let keys = json!({ "baseURL": format!("http://{api}"), "azs": [ZONE] }).to_string();
    let flag = format!("--token-file={}", file.display());
    let checked = berth(&["e2e-commitments", &keys, &flag], "").await;
    assert_eq!(checked.status, 0, "{}", checked.stderr);
    let refused = berth(&["e2e-commitments", &keys], "").await;
    assert!(refused.status == 1 && refused.stderr.contains("info: GET info: status 401"), "{}", refused.stderr);
    assert!(refused.stderr.contains("requests have no token: there is neither --token-file"), "{}", refused.stderr);

    keystone.set_fault(Some(KeystoneFault::Status(500)));
    assert_eq!(statuses(api, Some(VIEWER)).await, [200, 403], "the cache knows it");
    let unknown = ask(api, "GET", INFO, Some("new")).await;
    assert_eq!((unknown.status, unknown.header("retry-after")), (503, Some("5")), "{unknown:?}");
    assert_eq!(unknown.body, "the token cannot be validated at the moment\n");

    let metrics = world.operator().metrics().await;
    assert!(metrics.contains("berth_auth_disabled{api=\"liquid\"} 0"), "{metrics}");
    let count = |outcome: &str| http::sum(&metrics, "berth_token_checks_total", &[&format!("outcome=\"{outcome}\"")]);
    assert!(count("cached") >= 4 && count("validated") == 3, "{metrics}");
    assert_eq!((count("unknown"), count("unavailable"), count("busy")), (2, 1, 0));
    let log = world.operator().log();
    let turned_on = "is not set: the credentials of Keystone turn authentication on; set it to";
    assert_eq!(log.matches(turned_on).count(), 1, "{log}");
    assert_eq!(log.matches("keystone does not validate tokens").count(), 1, "{log}");
    assert!(!log.contains("gAAAAA") && !log.contains(PASSWORD), "{log}");
    world.end().await;
}

#[tokio::test]
async fn a_change_that_is_forwarded_to_the_leader_is_authenticated_there_too() {
    let keystone = keystone().await;
    let replicas = Replicas::two(prepare(&keystone, &json!({})).await).await;
    let follower = replicas.get(TWO[1]).api();
    let change = async |token: &str| {
        let path = with_header(CHANGE, &format!("X-Auth-Token: {token}"));
        send(follower, "POST", &path, 2, b"{}").await.unwrap()
    };
    let status = async |status: u16, answer: Posted| so(answer.status == status, || format!("{answer:?}"));
    replicas
        .until("the follower knows the token", async |_| {
            status(200, ask(follower, "GET", INFO, Some(LIMES)).await).await
        })
        .await;

    keystone.set_fault(Some(KeystoneFault::Status(500)));
    let unknown = change(LIMES).await;
    assert_eq!((unknown.status, unknown.header("retry-after")), (503, Some("5")), "the leader does not know it");
    keystone.set_fault(None);
    replicas.until("the leader decides", async |_| status(400, change(LIMES).await).await).await;
    assert_eq!((change("made-up").await.status, change(VIEWER).await.status), (401, 403));

    let metrics = replicas.get(TWO[0]).metrics().await;
    assert_eq!(http::sum(&metrics, "berth_token_checks_total", &["outcome=\"validated\""]), 1, "{metrics}");
    assert_eq!(http::sum(&metrics, "berth_token_checks_total", &["outcome=\"unknown\""]), 0, "not forwarded");
    replicas.end(TWO[0]).await;
}

#[tokio::test]
async fn placement_lets_in_whom_the_policies_allow() {
    let keystone = keystone().await;
    keystone.issue_token("gAAAAA-nova", "nova", "service", &["service"]);
    keystone.issue_system_token("gAAAAA-system", "root", &["admin"]);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("conf.json");
    let keys = json!({
        "keystoneURL": keystone.url(), "osUsername": USER, "osPassword": PASSWORD, "osProjectName": "service",
        "osUserDomainName": "Default", "osProjectDomainName": "Default",
    });
    fs::write(&config, keys.to_string()).unwrap();
    let placement = Placement::begin_configured(&config).await;
    let answered = async |path: &str, token| ask(placement.api, "GET", path, token).await;
    let list = "/resource_providers";
    assert_eq!(answered("/", None).await.status, 200);
    for (token, status) in [(None, 401), (Some("made-up"), 401), (Some(CUSTOMER), 403), (Some("gAAAAA-nova"), 200)] {
        assert_eq!(answered(list, token).await.status, status, "{token:?}");
    }
    let system = answered(list, Some("gAAAAA-system")).await;
    assert!(system.status == 403 && system.body.contains("placement:resource_providers:list"), "{system:?}");
    assert!(!system.body.contains("Policy does not allow"), "{system:?}");
    for (project, status) in [("p-1", 200), ("p-2", 403)] {
        let usages = with_header(&format!("/usages?project_id={project}"), "OpenStack-API-Version: placement 1.9");
        assert_eq!(answered(&usages, Some(CUSTOMER)).await.status, status, "{project}");
    }
    let create = with_header(list, "Content-Type: application/json");
    assert_eq!(ask(placement.api, "POST", &create, Some(CUSTOMER)).await.status, 403, "before the body is read");

    keystone.set_fault(Some(KeystoneFault::Status(503)));
    assert_eq!(answered(list, Some("gAAAAA-nova")).await.status, 200);
    let unknown = answered(list, Some("new")).await;
    assert_eq!((unknown.status, unknown.header("retry-after")), (503, Some("5")), "{unknown:?}");
    let metrics = http::get(placement.side, "/metrics").await.unwrap().1;
    assert!(metrics.contains("berth_auth_disabled{api=\"placement\"} 0"), "{metrics}");
    assert!(metrics.contains("berth_token_checks_total{outcome=\"unavailable\"} 1"), "{metrics}");
}
