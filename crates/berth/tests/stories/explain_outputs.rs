//! The `explain` commands against a real API server: what they print, what they refuse, and with which exit code.

use std::path::Path;

use berth_crds::{Hypervisor, Pipeline, testing};
use serde_json::{Value, json};

use crate::support::cloud::Cloud;
use crate::support::desk::{Desk, json_of};
use crate::support::objects::{OTHER_ZONE, ZONE, host, in_zone};
use crate::support::world::World;

/// A normal host, an over-booked one, one in another zone, and one with invalid capacity.
async fn populate(cloud: &Cloud) {
    cloud.create(&host("node001", 4)).await;
    cloud.create(&host("node002", 1)).await;
    cloud.create(&in_zone(host("node003", 2), OTHER_ZONE)).await;
    cloud.create(&host("node004", 1)).await;
    let invalid_amount = json!({ "status": { "effectiveCapacity": { "memory": "-5Gi" } } });
    cloud.edit_status::<Hypervisor>("node004", invalid_amount).await;
    for (number, node) in [(0, "node001"), (1, "node002"), (2, "node002")] {
        let mut slot = testing::slot("story-1", number);
        slot.spec.target_host = Some(node.to_owned());
        cloud.create(&slot).await;
    }
}

fn body(zone: &str) -> Value {
    json!({
        "spec": { "nova_object.data": {
            "instance_uuid": "5f0e7c1a-9d2b-4c36-8a47-1b6d3e9f2c58", "project_id": "p", "num_instances": 1,
            "availability_zone": zone,
            "flavor": { "nova_object.data": {
                "name": testing::FLAVOR, "vcpus": 30, "memory_mb": 491_520,
                "extra_specs": { "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" },
            }},
        }},
        "context": { "project_id": "p", "request_id": "req-1" },
        "hosts": [{ "host": "node001", "hypervisor_hostname": "node001" }], "weights": { "node001": 0 },
    })
}

#[tokio::test]
async fn people_are_reported_what_a_host_holds_and_what_a_request_would_get() {
    let world = World::without_operator().await;
    populate(&world).await;
    let desk = Desk::of(world.people());
    let before = world.now().await.versions();
    hosts_are_explained(&desk).await;
    requests_are_tried(&desk).await;
    pipelines_of_objects_count(&desk, &world).await;
    what_cannot_be_is_refused(&desk).await;
    a_remote_that_is_away_is_named(&desk).await;
    assert_eq!(world.now().await.versions(), before, "the command changed something");
}

async fn hosts_are_explained(desk: &Desk) {
    let text = desk.shown(&["explain", "host", "node001"]).await;
    for part in [
        &format!("Host node001 in zone {ZONE}, cluster home, kvm"),
        "In service: yes",
        "commitment-story-1-0  CommittedResource",
        "Not included, because ",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let free = |line: &str| line.split_whitespace().eq(["Free", "1440", "GiB", "90"]);
    assert!(text.lines().any(free), "{text}");
    let full: Value = json_of(&desk.shown(&["explain", "host", "node002", "-o", "json"]).await);
    assert_eq!(full["overbooked"], json!({ "memory": 480_i64 << 30, "cpu": 30 }), "{full:#}");
    assert_eq!(full["reservations"].as_array().unwrap().len(), 2);
    let fit = full["fits"].as_array().unwrap().iter().find(|group| group["group"] == testing::GROUP).unwrap();
    assert_eq!(fit["flavors"][0]["slots"], 0);
    let text = desk.shown(&["explain", "host", "node002"]).await;
    assert!(text.contains("OVER-BOOKED by 480 GiB of memory and 30 cores"), "{text}");
    let text = desk.shown(&["explain", "host", "node004"]).await;
    let invalid_amount = "status.effectiveCapacity.memory is \"-5Gi\"";
    assert!(text.contains(&format!("NOT OFFERED: invalid amount: {invalid_amount}")), "{text}");
}

async fn requests_are_tried(desk: &Desk) {
    let request = desk.file("request.json", &body(ZONE).to_string());
    let text = desk.shown(&["schedule", "--request", &request]).await;
    assert!(text.contains("Hosts, best first (4 hosts; zone 1, capacity 1, unreadable capacity 1"), "{text}");
    assert!(text.contains("  1  node001 "), "{text}");
    let from_input = desk.berth(&["schedule", "--request", "-"], &body(ZONE).to_string()).await;
    assert_eq!((from_input.status, from_input.stdout), (0, text));
    let nowhere = desk.file("nowhere.json", &body("nowhere").to_string());
    let text = desk.shown(&["schedule", "--request", &nowhere, "--all"]).await;
    assert!(text.contains("No host: 4 hosts; zone 4") && text.contains("         node003\n"), "{text}");
    let intent = "--intent=reserve_for_committed_resource";
    let run = desk.shown(&["schedule", "--flavor", testing::FLAVOR, "--zone", ZONE, intent, "-o", "json"]).await;
    let run = json_of(&run);
    assert_eq!((&run["answer"], &run["intent"]), (&json!(["node001"]), &json!("reserve_for_committed_resource")));
    assert_eq!(
        run["removed"][0],
        json!({ "filter": "filter_correct_az", "short": "zone", "count": 1, "hosts": ["node003"] })
    );
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples/requests/vm-of-the-project.json");
    let text = desk.shown(&["schedule", "--request", sample.to_str().unwrap()]).await;
    assert!(text.contains("eu-demo-1a, 8f5d1c2ab7e04d6f9c3e5a7b1d2f4068") && text.contains("No host: "), "{text}");
}

async fn pipelines_of_objects_count(desk: &Desk, cloud: &Cloud) {
    let spec = json!({ "schedulingDomain": "nova", "type": "filter-weigher", "ignorePreselection": true,
                       "filters": [{ "name": "filter_correct_az" }] });
    let pipeline = json!({ "metadata": { "name": "only-zone" }, "spec": spec });
    cloud.create_raw::<Pipeline>(pipeline).await.unwrap();
    let arguments = ["schedule", "--flavor", testing::FLAVOR, "--zone", OTHER_ZONE, "--pipeline", "only-zone"];
    let text = desk.shown(&arguments).await;
    assert!(text.contains("Pipeline  only-zone") && text.contains("(4 hosts; zone 3)"), "{text}");
    cloud.delete::<Pipeline>("only-zone").await;
}

async fn what_cannot_be_is_refused(desk: &Desk) {
    desk.refused(
        &["explain", "host", "node01"],
        1,
        "no host \"node01\" is known; similar names: node001, node002, node003",
    )
    .await;
    let wrong = desk.file("wrong.json", "{\"hosts\": 3}");
    let line = "failed to decode request body: hosts: expected a list, found 3";
    desk.refused(&["schedule", "--request", &wrong], 2, line).await;
    let missing = desk.path("none").display().to_string();
    let ended = desk.berth(&["schedule", "--request", &missing], "").await;
    assert!(ended.status == 2 && ended.stderr.contains("the request cannot be read; give the path"), "{ended:#?}");
    let mut unknown = body(ZONE);
    unknown["pipeline"] = json!("kvm-foo");
    let unknown = desk.file("unknown.json", &unknown.to_string());
    desk.refused(&["schedule", "--request", &unknown], 1, "pipeline not found or not ready: \"kvm-foo\"").await;
    let ended = desk.berth(&["schedule", "--flavor", "mem_v4_c30_m48"], "").await;
    assert!(ended.status == 1 && ended.stderr.contains("similar names: mem_v4_c30_m480"), "{ended:#?}");
    assert_eq!(desk.berth(&["schedule"], "").await.status, 2, "clap");
    let away = desk.file("away", &kubeconfig("http://127.0.0.1:1").to_string());
    let other = Desk::of(away.as_ref());
    let ended = other.berth(&["explain", "host", "node001"], "").await;
    assert!(ended.status == 1 && ended.stderr.contains("http://127.0.0.1:1/ does not answer"), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
}

async fn a_remote_that_is_away_is_named(desk: &Desk) {
    let kinds = ["cortex.cloud/v1alpha1/Reservation", "kvm.cloud.sap/v1/Hypervisor"];
    let remote = json!({ "host": "http://127.0.0.1:1", "gvks": kinds,
                         "labels": { "availabilityZone": OTHER_ZONE } });
    let at_home = [kinds[0], kinds[1], "cortex.cloud/v1alpha1/Knowledge"];
    let keys = json!({ "apiservers": { "home": { "gvks": at_home }, "remotes": [remote] } });
    let config = format!("--config={}", desk.file("config.json", &keys.to_string()));
    // The configuration itself causes a warning.
    let ended = desk.berth(&["explain", "host", "node001", &config], "").await;
    assert_eq!(ended.status, 0, "{ended:#?}");
    let heading = format!("PARTIAL: cluster {OTHER_ZONE} (zone {OTHER_ZONE}) is missing: ");
    assert!(ended.stdout.starts_with(&heading), "{ended:#?}");
    let run = desk.berth(&["schedule", "--flavor", testing::FLAVOR, "-o", "json", &config], "").await;
    assert_eq!(json_of(&run.stdout)["missing"][0]["zone"], json!(OTHER_ZONE), "{run:#?}");
}

fn kubeconfig(server: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": server } }], "users": [{ "name": "c", "user": { "token": "t" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
    })
}
