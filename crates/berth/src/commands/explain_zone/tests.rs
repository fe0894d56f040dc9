//! What is shown of a zone.

use berth_crds::conditions::capacity::{MAY_BE_STALE, RECONCILE_FAILED, RECONCILE_SUCCEEDED, UP_TO_DATE};
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{FlavorGroupCapacity, ProjectQuota, ProjectQuotaSpec, Time, names, testing};
use berth_testkit::seeds;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::*;
use crate::commands::scene::Scene;

/// One running VM, one slot that is held, and two free ones, of 480 GiB each.
fn capacity(scene: &Scene, is_ready: bool) -> FlavorGroupCapacity {
    let mut object = seeds::capacity(testing::ZONE, 120);
    let status = json!({
        "smallestFlavorName": testing::FLAVOR,
        "runningInstances": 1, "runningUnits": 480, "runningResources": {"memory": "480Gi", "cores": "30"},
        "reservedInstances": 1, "reservedUnits": 480, "reservedResources": {"memory": "480Gi", "cores": "30"},
        "exclusivelyFreeSlots": 2, "exclusivelyFreeCapacity": {"memory": "960Gi", "cores": "60"},
    });
    let mut status: berth_crds::FlavorGroupCapacityStatus = serde_json::from_value(status).unwrap();
    let (condition, reason, message) = if is_ready {
        (Status::True, RECONCILE_SUCCEEDED, UP_TO_DATE)
    } else {
        (Status::False, RECONCILE_FAILED, MAY_BE_STALE)
    };
    status.conditions = vec![ready_condition(condition, reason, message, None, scene.clock.now())];
    status.last_reconcile_at = Some(Time(scene.clock.now()));
    object.status = Some(status);
    object
}

fn quota(project: &str, gib: i64) -> ProjectQuota {
    let spec = ProjectQuotaSpec {
        project_id: project.to_owned(),
        availability_zone: testing::ZONE.to_owned(),
        quota: [
            (format!("hw_version_{}_ram", testing::GROUP), gib),
            (format!("hw_version_{}_cores", testing::GROUP), 40),
        ]
        .into(),
        ..ProjectQuotaSpec::default()
    };
    ProjectQuota::new(&names::project_quota(project, testing::ZONE), spec)
}

async fn view(scene: &Scene, zone: &str) -> Result<ZoneReportView, Error> {
    explain(&scene.snapshot().await, zone, scene.clock.now()).await
}

#[tokio::test(start_paused = true)]
async fn a_zone_has_the_parts_of_its_capacity_what_is_sold_and_the_quota() {
    let scene = Scene::new(&[("node1", 4)]);
    scene.commit(&seeds::waiting_commitment("uuid-1", 1)).await;
    scene.home.create(&capacity(&scene, true)).unwrap();
    scene.home.create(&quota("p1", 960)).unwrap();
    scene.home.create(&quota("p2", 480)).unwrap();
    scene.later(12).await;
    let view = view(&scene, testing::ZONE).await.unwrap();
    assert_snapshot!(text(&view), @"
    Zone eu-test-1a: 1 host

    Group mem_v4, slots of mem_v4_c30_m480: up to date, written 12s ago
                 RUNNING  RESERVED  FREE  CAPACITY  SOLD  QUOTA
      RAM (GiB)      480       480   960      1920   480   1440
      cores           30        30    60       120     0     80
      instances        1         1     2         4     -      0
    ");
    let json: Value = serde_json::to_value(&view).unwrap();
    let ram = json!({ "resource": "RAM (GiB)", "running": 480, "reserved": 480, "free": 960, "capacity": 1920,
                      "sold": 480, "quota": 1440 });
    assert_eq!(json["groups"][0]["resources"][0], ram);
    assert_eq!((&json["groups"][0]["ready"], &json["groups"][0]["ageSeconds"]), (&json!(true), &json!(12)));
}

#[tokio::test(start_paused = true)]
async fn numbers_that_may_be_old_are_marked() {
    let scene = Scene::new(&[("node1", 4)]);
    scene.home.create(&capacity(&scene, false)).unwrap();
    assert!(
        text(&view(&scene, testing::ZONE).await.unwrap())
            .contains("NOT READY, written 1s ago: one or more scheduler probes failed; capacity data may be stale")
    );
    let old = Scene::new(&[("node1", 4)]);
    old.home.create(&capacity(&old, true)).unwrap();
    old.later(901).await;
    assert!(text(&view(&old, testing::ZONE).await.unwrap()).contains("NOT READY, written 15m"), "too old");
}

#[tokio::test(start_paused = true)]
async fn a_zone_without_capacities_and_an_unknown_one_say_so() {
    let scene = Scene::new(&[("node1", 4)]);
    let shown = text(&view(&scene, testing::ZONE).await.unwrap());
    assert!(shown.contains("1 host\n") && shown.contains("No capacity was written yet"), "{shown}");
    let error = view(&scene, "eu-test-1").await.unwrap_err().to_string();
    assert!(error.contains("zone") && error.contains(testing::ZONE), "{error}");
}
