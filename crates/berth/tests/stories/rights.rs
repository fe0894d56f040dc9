//! Rights for one kind that are revoked while the operator runs: it continues, says what is missing, decides nothing
//! without the data, and recovers by itself when the rights are granted again. Runs the real binary on a real API
//! server.

use serde_json::{Value, json};

use crate::support::http;
use crate::support::objects::{host, non_rejectable};
use crate::support::waiting::{so, until};
use crate::support::world::{World, shipped};

/// The kinds that are watched: each watch that is cut may warn once.
const WATCHES: usize = 9;

const KIND: [&str; 1] = ["kind=\"Reservation\""];

/// Removes these rights from the account of the operator.
async fn revoke(world: &World, resource: &str, verbs: &[&str]) {
    let mut role: Value =
        serde_json::from_str(&world.kubectl(&["get", "clusterrole", "berth", "--output=json"]).await).unwrap();
    let rules = role["rules"].as_array_mut().unwrap();
    for rule in rules.iter_mut().filter(|rule| rule["resources"] == json!([resource])) {
        rule["verbs"].as_array_mut().unwrap().retain(|verb| !verbs.contains(&verb.as_str().unwrap()));
    }
    rules.retain(|rule| rule["verbs"] != json!([]));
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), role.to_string()).unwrap();
    world.kubectl(&["replace", "--filename", file.path().to_str().unwrap()]).await;
    for verb in verbs {
        decided(world, verb, resource, "no").await;
    }
}

/// An empty cloud and the operator with all its rights, which a failed test may have left revoked.
async fn begin() -> World {
    let mut world = World::without_operator().await;
    grant(&world).await;
    decided(&world, "create", "reservations", "yes").await;
    world.start().await;
    world
}

async fn grant(world: &World) {
    let folder = shipped("rbac");
    world.kubectl(&["apply", "--force-conflicts", "--server-side", "--filename", &folder]).await;
}

/// Rights take effect a moment after they are written.
async fn decided(world: &World, verb: &str, resource: &str, answer: &str) {
    let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": { "user": "system:serviceaccount:berth-system:berth",
                  "resourceAttributes": { "group": "cortex.cloud", "resource": resource, "subresource": sub, "verb": verb } },
    });
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), review.to_string()).unwrap();
    let ask = ["create", "--output=jsonpath={.status.allowed}", "--filename", file.path().to_str().unwrap()];
    let asked = until(async || {
        let allowed = world.kubectl(&ask).await;
        so((allowed.trim() == "true") == (answer == "yes"), || allowed)
    });
    asked.await.unwrap();
}

/// The warnings and errors of the log since the start.
fn warnings(world: &World) -> Vec<String> {
    let log = world.operator().log();
    log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")).map(str::to_owned).collect()
}

/// One log line has this text, and the other warnings are few.
async fn said_once(world: &World, text: &str) {
    let reported = || warnings(world).iter().filter(|line| line.contains(text)).count();
    until(async || so(reported() > 0, || format!("the log lacks {text}"))).await.unwrap();
    let warnings = warnings(world);
    assert_eq!(warnings.iter().filter(|line| line.contains(text)).count(), 1, "{text}:\n{}", world.operator().log());
    let right =
        warnings.iter().filter(|line| line.contains(text)).all(|line| line.contains("grant it with a ClusterRole"));
    assert!(right, "{warnings:#?}");
    assert!(warnings.len() <= WATCHES + 4, "{} lines:\n{}", warnings.len(), warnings.join("\n"));
}

#[tokio::test]
async fn without_the_right_to_follow_slots_nothing_is_decided_about_any() {
    let mut world = begin().await;
    world.create(&host("node1", 4)).await;
    for uuid in ["stays-1", "shrinks-1", "leaves-1"] {
        world.create(&non_rejectable(uuid, 1)).await;
        world.accepted(uuid).await;
    }
    let before = world.rest().await;
    revoke(&world, "reservations", &["list", "watch"]).await;
    world.cut_watches().await;
    world.until_metric("berth_store_complete", &KIND, 0).await;

    let unknown = "Reservation objects of cluster home are not completely known: its watch fails: ";
    world.create(&non_rejectable("newest-1", 1)).await;
    world.reported("newest-1", "Reserving", unknown).await;
    world.respec("shrinks-1", json!({ "amount": "0" })).await;
    world.reported("shrinks-1", "Reserving", unknown).await;
    world.delete_commitment("leaves-1").await;
    world.reported("leaves-1", "Releasing", "waiting for slots in cluster home").await;
    let held = world.now().await;
    assert_eq!(held.slots().count(), before.slots().count(), "{}", world.report().await);
    assert_eq!(world.operator().probe("/healthz").await.map(|(status, _)| status), Some(200));
    let reported = "stores of cluster home: these kinds cannot be followed, the log says why: Reservation";
    let reported = until(async || {
        let answer = world.operator().probe("/readyz").await;
        let right = answer.as_ref().is_some_and(|(status, text)| *status == 200 && text.trim_end().ends_with(reported));
        so(right, || format!("{answer:?}"))
    });
    reported.await.unwrap();
    said_once(&world, "reservations.cortex.cloud is forbidden").await;

    grant(&world).await;
    world.until_metric("berth_store_complete", &KIND, 1).await;
    for uuid in ["stays-1", "shrinks-1", "newest-1"] {
        world.accepted(uuid).await;
    }
    world
        .until("the deleted one has gone", |seen| {
            so(seen.commitment("leaves-1").is_none(), || "it is there".to_owned())
        })
        .await;
    assert!(world.operator().log().contains("watch works again"), "{}", world.operator().log());
    world.end().await;
}

#[tokio::test]
async fn without_the_right_to_create_slots_a_commitment_waits_and_reports_why() {
    let world = begin().await;
    world.create(&host("node1", 2)).await;
    revoke(&world, "reservations", &["create"]).await;
    world.create(&non_rejectable("newest-1", 1)).await;
    let why = "cannot create Reservation home/commitment-newest-1-0: the API server refuses it (403): ";
    world.reported("newest-1", "Reserving", why).await;
    said_once(&world, "cannot create resource \\\"reservations\\\"").await;
    let metrics = world.operator().metrics().await;
    let refused = http::sum(&metrics, "berth_writes_total", &[KIND[0], "verb=\"create\"", "outcome=\"unavailable\""]);
    assert!((1..20).contains(&refused), "{metrics}");
    grant(&world).await;
    world.accepted("newest-1").await;
    world.end().await;
}

#[tokio::test]
async fn without_the_right_to_change_the_status_of_slots_they_wait_for_it() {
    let world = begin().await;
    world.create(&host("node1", 2)).await;
    world.create(&non_rejectable("before-1", 1)).await;
    let held = world.accepted("before-1").await.hosts_of("before-1");
    revoke(&world, "reservations/status", &["patch"]).await;
    world.create(&non_rejectable("newest-1", 1)).await;
    world.reported("newest-1", "Reserving", "waiting for reservation placement").await;
    let words = [KIND[0], "verb=\"patch_status\"", "outcome=\"unavailable\""];
    let refused = async || http::sum(&world.operator().metrics().await, "berth_writes_total", &words);
    until(async || so(refused().await > 2, || "not tried yet".to_owned())).await.unwrap();
    assert!(refused().await < 20, "{}", world.report().await);
    said_once(&world, "cannot patch resource \\\"reservations/status\\\"").await;
    assert_eq!(world.now().await.hosts_of("before-1"), held);
    grant(&world).await;
    world.accepted("newest-1").await;
    world.end().await;
}
