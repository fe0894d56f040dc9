//! What a push is answered, and what it writes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use berth_cluster::testing::failing;
use berth_cluster::{Fence, Routes};
use berth_core::ClusterName;
use berth_crds::{Knowledge, ProjectQuota, ProjectQuotaSpec, names};
use berth_http::Role;
use berth_http::forwarder::{DEADLINE_MS, FORWARDED};
use berth_telemetry::config::decode;
use berth_testkit::{Fault, Server, Verb};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::setting::*;

const LEADER: &str = "http://10.0.0.7:8080";

fn started() -> (Server, Process) {
    let server = server();
    let process = Process::start(&server);
    (server, process)
}

fn first() -> Value {
    push(&[("hana_v3_ram", "1a", 6), ("hana_v3_ram", "1b", 0), ("gp_v1_ram", "1a", 256), ("hana_v3_cores", "1a", 180)])
}

#[tokio::test(start_paused = true)]
async fn a_push_becomes_one_object_for_each_zone() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    let expected =
        json!({ "1a": { "hana_v3_ram": 2880, "gp_v1_ram": 256, "hana_v3_cores": 180 }, "1b": { "hana_v3_ram": 0 } });
    assert_eq!(stored(&server), expected);
    let spec = object_in(&server, "1a").spec;
    assert_eq!(
        (&*spec.domain_id, spec.project_name.as_deref(), spec.domain_name.as_deref()),
        ("d-1", Some("prod"), Some("corp"))
    );
    let writes = ["create projectquotas/quota-p1-1a", "create projectquotas/quota-p1-1b"];
    assert_eq!(server.take_log(), writes, "in the order of their names");
}

#[tokio::test(start_paused = true)]
async fn a_push_replaces_the_quota_and_deletes_what_it_does_not_name() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    let status = json!({ "status": { "totalUsage": { "hw_version_hana_v3_ram": 480 } } });
    server.edit_status::<ProjectQuota>("quota-p1-1a", &status).unwrap();
    process.world.deliver().unwrap();
    let mut second = push(&[("hana_v3_ram", "1a", 4)]);
    second["projectMetadata"] = Value::Null;
    server.take_log();
    process.push(&second).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "hana_v3_ram": 1920 } }));
    let object = object_in(&server, "1a");
    assert_eq!(object.spec.project_name.as_deref(), Some("prod"), "what is not said stays");
    assert_eq!(object.status.unwrap().total_usage["hw_version_hana_v3_ram"], 480, "the usage is not ours");
    assert_eq!(server.take_log(), ["patch projectquotas/quota-p1-1a", "delete projectquotas/quota-p1-1b"]);
    process.push(&second).await.is(204, "");
    assert_eq!(server.take_log(), [""; 0], "a repeated push writes nothing");
}

#[tokio::test(start_paused = true)]
async fn quota_of_other_projects_stays() {
    let (server, process) = started();
    let mut other = ProjectQuota::new("quota-p2-1b", ProjectQuotaSpec::default());
    (other.spec.project_id, other.spec.availability_zone) = ("p2".to_owned(), "1b".to_owned());
    server.create(&other).unwrap();
    process.world.deliver().unwrap();
    process.push(&first()).await.is(204, "");
    process.push(&push(&[("gp_v1_ram", "1a", 1)])).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 } }));
    assert!(server.get::<ProjectQuota>("quota-p2-1b").is_ok());
}

#[tokio::test(start_paused = true)]
async fn only_served_zones_are_stored() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    let limited = Process::start_with(&server, Start { served: &["1a"], ..Start::default() });
    limited.push(&first()).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "hana_v3_ram": 2880, "gp_v1_ram": 256, "hana_v3_cores": 180 } }));
}

#[tokio::test(start_paused = true)]
async fn memory_is_counted_in_the_published_unit() {
    let (server, process) = started();
    process.stubs.published.lock().insert("hana_v3", 16);
    let pushed = push(&[("hana_v3_ram", "1a", 5), ("new_ram", "1a", 5)]);
    process.push(&pushed).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "hana_v3_ram": 80, "new_ram": 5 } }));
    process.stubs.published.lock().clear();
    process.push(&pushed).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "hana_v3_ram": 2400, "new_ram": 5 } }), "the configured unit");
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_request_is_said_and_nothing_is_written() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    let before = stored(&server);
    server.take_log();
    let mut other = first();
    other["projectMetadata"]["uuid"] = "p2".into();
    process.push(&other).await.is(400, "Project UUID mismatch: URL has \"p1\" but metadata has \"p2\"");
    process.push(&json!({ "resources": {} })).await.is(400, "quota request contains no resources");
    let too_much = push(&[("gp_v1_ram", "1a", 1), ("hana_v3_ram", "1b", 1 << 63)]);
    let text = "Quota value for resource \"hw_version_hana_v3_ram\" in AZ \"1b\" exceeds int64 max";
    process.push(&too_much).await.is(400, text);
    let sums = process.push(&push(&[("gp_v1_ram", "total", 1)])).await;
    assert!(
        sums.status == 400 && sums.text.contains("AZ \"total\", which is not a real availability zone"),
        "{sums:?}"
    );
    let malformed = process.send("{", HeaderMap::new()).await;
    assert!(malformed.status == 400 && malformed.text.starts_with("Invalid request body: EOF"), "{malformed:?}");
    assert_eq!((stored(&server), server.take_log()), (before, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn flavor_groups_that_were_never_read_are_waited_for() {
    let server = server();
    server.delete::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
    let process = Process::start(&server);
    let seen = process.push(&first()).await;
    let text = "flavor groups not available: failed to get flavor groups knowledge: ";
    assert!(seen.status == 503 && seen.text.starts_with(text), "{seen:?}");
    process.push(&json!({})).await.is(400, "quota request contains no resources");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_changed_at_the_same_time_is_read_again() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    for nth in [1, 2] {
        let edit = json!({ "spec": { "quota": { "hw_version_other_ram": nth }, "projectName": "by hand" } });
        server.before(Verb::Patch, &path_in("1a"), nth, move |server| {
            server.edit::<ProjectQuota>("quota-p1-1a", &edit).unwrap();
        });
    }
    server.take_log();
    process.push(&push(&[("gp_v1_ram", "1a", 1), ("gp_v1_ram", "1b", 1)])).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 }, "1b": { "gp_v1_ram": 1 } }));
    let writes = server.take_log();
    assert_eq!(
        writes.iter().filter(|line| line.as_str() == "patch projectquotas/quota-p1-1a").count(),
        3,
        "{writes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_the_store_does_not_know_is_read_and_changed() {
    let (server, process) = started();
    let other = Process::start(&server);
    other.push(&first()).await.is(204, "");
    process.push(&push(&[("gp_v1_ram", "1a", 1), ("gp_v1_ram", "1b", 2)])).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 }, "1b": { "gp_v1_ram": 2 } }));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_always_changed_by_others_is_given_up() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    server.fail_always(Verb::Patch, &path_in("1a"), Fault::Conflict);
    server.take_log();
    let seen = process.push(&push(&[("gp_v1_ram", "1a", 1)])).await;
    let text = "Failed to persist quota for AZ 1a: cannot change ProjectQuota home/quota-p1-1a: it has changed";
    assert!(seen.status == 500 && seen.text.starts_with(text), "{seen:?}");
    assert_eq!(server.take_log(), ["patch projectquotas/quota-p1-1a"; 5], "no orphan is deleted");
    server.heal();
    process.push(&push(&[("gp_v1_ram", "1a", 1)])).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 } }));
}

#[tokio::test(start_paused = true)]
async fn all_zones_are_tried_and_all_that_have_failed_are_named() {
    let (server, process) = started();
    process.push(&push(&["1a", "1b", "1c", "1d"].map(|zone| ("gp_v1_ram", zone, 1)))).await.is(204, "");
    for zone in ["1a", "1c"] {
        server.fail_always(Verb::Patch, &path_in(zone), Fault::Forbidden);
    }
    let seen = process.push(&push(&["1a", "1b", "1c"].map(|zone| ("gp_v1_ram", zone, 2)))).await;
    assert!(seen.status == 500 && seen.text.starts_with("Failed to persist quota for AZ 1a, 1c: "), "{seen:?}");
    for part in
        [": 1a: cannot change ProjectQuota home/quota-p1-1a: ", "; 1c: cannot change ProjectQuota home/quota-p1-1c: "]
    {
        assert!(seen.text.contains(part), "{seen:?}");
    }
    let of = |quota| json!({ "gp_v1_ram": quota });
    assert_eq!(stored(&server), json!({ "1a": of(1), "1b": of(2), "1c": of(1), "1d": of(1) }));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_decided_about_a_cluster_that_cannot_be_read() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    server.take_log();
    failing(&process.world.stores.quotas, &ClusterName::home(), Some("no route to host"));
    let seen = process.push(&push(&[("gp_v1_ram", "1a", 1)])).await;
    assert!(seen.status == 500 && seen.text.contains("no route to host"), "{seen:?}");
    assert_eq!(server.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_ends_the_push_in_time() {
    let (server, process) = started();
    server.fail_always(Verb::Create, COLLECTION, Fault::Hang);
    let began = Instant::now();
    let seen = process.push(&first()).await;
    assert!(seen.status == 500 && seen.text.starts_with("Failed to persist quota for AZ 1a, 1b: 1a: "), "{seen:?}");
    assert!(began.elapsed() <= Duration::from_secs(30), "{:?}", began.elapsed());
    server.heal();
    process.push(&first()).await.is(204, "");
    assert_eq!(stored(&server).as_object().unwrap().len(), 2);
}

/// The first eight zones use up their tries, and the time ends while those that follow are tried.
#[tokio::test(start_paused = true)]
async fn a_cause_that_several_zones_share_is_said_once_and_first() {
    let (server, process) = started();
    server.fail_always(Verb::Create, COLLECTION, Fault::Hang);
    let zones: Vec<String> = (0..10).map(|number| format!("z{number}")).collect();
    let values: Vec<_> = zones.iter().map(|zone| ("gp_v1_ram", zone.as_str(), 1)).collect();
    let seen = process.push(&push(&values)).await;
    let text = format!(
        "Failed to persist quota for AZ {}: z8, z9: the API server did not answer within 30 s; send the request again; z0: ",
        zones.join(", ")
    );
    assert!(seen.status == 500 && seen.text.starts_with(&text), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn an_orphan_that_cannot_be_deleted_is_deleted_by_the_next_push() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    server.fail_always(Verb::Delete, &path_in("1b"), Fault::Forbidden);
    let second = push(&[("gp_v1_ram", "1a", 1)]);
    process.push(&second).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 }, "1b": { "hana_v3_ram": 0 } }));
    server.heal();
    process.push(&second).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 } }));
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_creation_was_not_answered_is_an_orphan_as_well() {
    let (server, process) = started();
    let after = Duration::from_secs(3);
    server.fail_always(Verb::Create, COLLECTION, Fault::Slow { before: Duration::ZERO, after });
    let body = push(&[("gp_v1_ram", "1a", 1)]);
    assert!(timeout(Duration::from_secs(1), process.push(&body)).await.is_err());
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 } }));
    server.heal();
    process.push(&push(&[("gp_v1_ram", "1b", 1)])).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1b": { "gp_v1_ram": 1 } }));
}

#[tokio::test(start_paused = true)]
async fn an_orphan_that_has_a_successor_is_read_once_more() {
    let (server, process) = started();
    process.push(&first()).await.is(204, "");
    server.fail_always(Verb::Delete, &path_in("1b"), Fault::Conflict);
    server.take_log();
    process.push(&push(&[("gp_v1_ram", "1a", 1)])).await.is(204, "");
    let deletions = server.take_log().into_iter().filter(|line| line.starts_with("delete")).count();
    assert_eq!(deletions, 2);
    server.heal();
    server.before(Verb::Delete, &path_in("1b"), 1, |server| {
        server.delete::<ProjectQuota>("quota-p1-1b").unwrap();
        let mut successor = ProjectQuota::new("quota-p1-1b", ProjectQuotaSpec::default());
        (successor.spec.project_id, successor.spec.availability_zone) = (PROJECT.to_owned(), "1b".to_owned());
        server.create(&successor).unwrap();
    });
    process.push(&push(&[("gp_v1_ram", "1a", 1)])).await.is(204, "");
    assert_eq!(stored(&server), json!({ "1a": { "gp_v1_ram": 1 } }));
}

#[tokio::test(start_paused = true)]
async fn the_quota_of_another_project_with_the_same_name_of_the_object_stays() {
    let (server, process) = started();
    let mut other = ProjectQuota::new("quota-p1-b-c", ProjectQuotaSpec::default());
    (other.spec.project_id, other.spec.availability_zone) = ("p1-b".to_owned(), "c".to_owned());
    let body = push(&[("gp_v1_ram", "1a", 1), ("gp_v1_ram", "b-c", 1)]);
    let text = "Failed to persist quota for AZ b-c: ProjectQuota home/quota-p1-b-c is in the way: it is the quota of project \
                p1-b in zone c; delete it if that quota is not needed, otherwise leave one of the two zones out of \
                quotaServedAvailabilityZones";
    server.create(&other).unwrap();
    process.push(&body).await.is(500, text);
    process.world.deliver().unwrap();
    process.push(&body).await.is(500, text);
    let stored: ProjectQuota = server.get("quota-p1-b-c").unwrap();
    assert_eq!(stored.spec, other.spec);
    assert_eq!(server.take_log().len(), 2, "the other zone is created, and one creation finds the object");
}

/// The zone `1a` belongs to a remote, and no cluster serves others.
fn remote_only() -> Routes {
    let slots = json!({ "gvks": ["cortex.cloud/v1alpha1/Reservation"] });
    let remote = json!({ "host": "https://a.example.org", "gvks": ["cortex.cloud/v1alpha1/ProjectQuota"],
        "labels": { "availabilityZone": "1a" } });
    let values = json!({ "apiservers": { "home": slots, "remotes": [remote] } });
    Routes::new(&decode(values.as_object().unwrap(), false).unwrap().configuration.api_servers)
}

#[tokio::test(start_paused = true)]
async fn zones_that_no_cluster_serves_are_passed_over() {
    let server = server();
    let process = Process::start_with(&server, Start { routes: remote_only(), ..Start::default() });
    process.push(&push(&[("gp_v1_ram", "1b", 1)])).await.is(204, "");
    let seen = process.push(&push(&[("gp_v1_ram", "1a", 1), ("gp_v1_ram", "1b", 1)])).await;
    assert!(seen.status == 500 && seen.text.starts_with("Failed to persist quota for AZ 1a: "), "{seen:?}");
    assert_eq!(server.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn pushes_of_a_project_are_executed_one_after_the_other() {
    let (server, process) = started();
    server.latency(Duration::from_millis(1)..=Duration::from_millis(9), Duration::ZERO..=Duration::from_millis(9));
    for seed in 0..30 {
        server.seed(seed);
        let (one, two) =
            (push(&[("a_ram", "1a", 1), ("a_ram", "1b", 1)]), push(&[("b_ram", "1b", 2), ("b_ram", "1c", 2)]));
        let (first, second) = tokio::join!(process.push(&one), process.push(&two));
        assert_eq!((first.status, second.status), (204, 204));
        assert_eq!(stored(&server), json!({ "1b": { "b_ram": 2 }, "1c": { "b_ram": 2 } }), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn pushes_that_wait_too_long_are_refused() {
    let (server, process) = started();
    server.fail_always(Verb::Create, COLLECTION, Fault::Hang);
    let body = first();
    let (_, seen) = tokio::join!(process.push(&body), process.push(&body));
    seen.is(503, "other quota requests of this project are under way, please retry later");
    assert_eq!(seen.retry_after.as_deref(), Some("5"));
}

#[tokio::test(start_paused = true)]
async fn another_replica_forwards_to_the_leader() {
    let (server, process) = started();
    *process.stubs.role.lock() = Role::Follower { leader: Some(LEADER.to_owned()) };
    process.push(&json!({})).await.is(204, "");
    let (url, headers, left) = process.stubs.forwarded.lock().remove(0);
    assert_eq!(url, "PUT http://10.0.0.7:8080/commitments/v1/projects/p1/quota");
    assert_eq!((headers["x-request-id"].to_str().unwrap(), left.as_secs()), ("s-1", 45));
    assert_eq!(server.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn without_a_leader_a_push_waits_for_ten_seconds() {
    let (_, process) = started();
    *process.stubs.role.lock() = Role::Follower { leader: None };
    let began = Instant::now();
    let seen = process.push(&first()).await;
    seen.is(503, "no replica leads at the moment; try again");
    assert_eq!((seen.retry_after.as_deref(), began.elapsed().as_secs()), (Some("2"), 10));
    assert!(process.stubs.searches.load(Ordering::Relaxed) > 10);
    let mut headers = HeaderMap::new();
    headers.insert(DEADLINE_MS, HeaderValue::from_static("300"));
    let began = Instant::now();
    assert_eq!(process.send("{}", headers).await.status, 503);
    assert!(began.elapsed() <= Duration::from_millis(301));
}

#[tokio::test(start_paused = true)]
async fn a_push_that_was_not_decided_is_sent_again() {
    let (_, process) = started();
    *process.stubs.role.lock() = Role::Follower { leader: Some(LEADER.to_owned()) };
    *process.stubs.leader_answer.lock() = (StatusCode::SERVICE_UNAVAILABLE, true);
    assert_eq!(process.push(&first()).await.status, 503);
    assert!(process.stubs.forwarded.lock().len() > 10);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_lead_any_more_writes_nothing() {
    let server = server();
    let process = Process::start_with(&server, Start { fence: Fence::closed(), ..Start::default() });
    let seen = process.push(&first()).await;
    seen.is(503, "this replica has lost the leadership; try again");
    assert_eq!((seen.retry_after.as_deref(), server.take_log()), (Some("2"), Vec::new()));
    let (_, process) = started();
    *process.stubs.role.lock() = Role::Follower { leader: Some(LEADER.to_owned()) };
    let mut headers = HeaderMap::new();
    headers.insert(FORWARDED, HeaderValue::from_static("1"));
    let text = "this replica has lost the leadership; try again";
    process.send(first().to_string(), headers).await.is(503, text);
    assert!(process.stubs.forwarded.lock().is_empty(), "it is not forwarded again");
}
