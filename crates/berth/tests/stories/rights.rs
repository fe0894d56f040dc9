//! Rights that are taken away while the operator runs, for one kind: it goes on, says what is missing, decides nothing
//! on what it cannot see, and recovers by itself when they are granted again. Told to the real binary on a real API
//! server.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::http;
use crate::support::objects::{host, patient};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const KIND: [&str; 1] = ["kind=\"Reservation\""];

/// The account of the operator loses these rights.
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

/// An empty cloud and the operator with all its rights, which a story that failed may have left revoked.
async fn begin() -> World {
    let mut world = World::without_operator().await;
    grant(&world).await;
    decided(&world, "create", "reservations", "yes").await;
    world.start().await;
    world
}

/// It has all rights again.
async fn grant(world: &World) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/rbac/cluster-role.yaml");
    world.kubectl(&["apply", "--force-conflicts", "--server-side", "--filename", file.to_str().unwrap()]).await;
}

/// Rights come into force a moment after they are written.
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

/// Lines of the log since the start that are warnings or worse.
fn loud(world: &World) -> Vec<String> {
    let log = world.operator().log();
    log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")).map(str::to_owned).collect()
}

/// One line says this, and all the others together are few.
async fn said_once(world: &World, text: &str) {
    let told = || loud(world).iter().filter(|line| line.contains(text)).count();
    until(async || so(told() > 0, || format!("nobody says {text}"))).await.unwrap();
    let loud = loud(world);
    assert_eq!(loud.iter().filter(|line| line.contains(text)).count(), 1, "{text}:\n{}", world.operator().log());
    let right = loud.iter().filter(|line| line.contains(text)).all(|line| line.contains("grant it with a ClusterRole"));
    assert!(right, "{loud:#?}");
    assert!(loud.len() <= 8, "{} lines:\n{}", loud.len(), loud.join("\n"));
}

#[tokio::test]
async fn without_the_right_to_follow_slots_nothing_is_decided_about_any() {
    let mut world = begin().await;
    world.create(&host("node1", 4)).await;
    for uuid in ["stays-1", "shrinks-1", "leaves-1"] {
        world.create(&patient(uuid, 1)).await;
        world.accepted(uuid).await;
    }
    let before = world.rest().await;
    revoke(&world, "reservations", &["list", "watch"]).await;
    world.cut_watches().await;
    world.until_metric("berth_store_complete", &KIND, 0).await;

    let unknown = "Reservation objects of cluster home are not completely known: its watch fails: ";
    world.create(&patient("newest-1", 1)).await;
    world.says("newest-1", "Reserving", unknown).await;
    world.respec("shrinks-1", json!({ "amount": "0" })).await;
    world.says("shrinks-1", "Reserving", unknown).await;
    world.delete_commitment("leaves-1").await;
    world.says("leaves-1", "Releasing", "waiting for slots in cluster home").await;
    let held = world.now().await;
    assert_eq!(held.slots().count(), before.slots().count(), "{}", world.report().await);
    assert_eq!(world.operator().probe("/healthz").await.map(|(status, _)| status), Some(200));
    let says = "stores of cluster home: these kinds cannot be followed, the log says why: Reservation";
    let told = until(async || {
        let answer = world.operator().probe("/readyz").await;
        let right = answer.as_ref().is_some_and(|(status, text)| *status == 200 && text.trim_end().ends_with(says));
        so(right, || format!("{answer:?}"))
    });
    told.await.unwrap();
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
    assert!(world.operator().log().contains("the watch works again"), "{}", world.operator().log());
    world.end().await;
}

#[tokio::test]
async fn without_the_right_to_create_slots_a_commitment_waits_and_says_why() {
    let world = begin().await;
    world.create(&host("node1", 2)).await;
    revoke(&world, "reservations", &["create"]).await;
    world.create(&patient("newest-1", 1)).await;
    let why = "cannot create Reservation home/commitment-newest-1-0: the API server refuses it (403): ";
    world.says("newest-1", "Reserving", why).await;
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
    world.create(&patient("before-1", 1)).await;
    let held = world.accepted("before-1").await.hosts_of("before-1");
    revoke(&world, "reservations/status", &["patch"]).await;
    world.create(&patient("newest-1", 1)).await;
    world.says("newest-1", "Reserving", "waiting for reservation placement").await;
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
