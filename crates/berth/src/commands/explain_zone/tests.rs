//! What is shown of a zone.

use berth_core::liquid::info::{ServiceInfo, build_resources};
use berth_core::liquid::resources::{GroupResources, ResourceConfig};
use berth_crds::conditions::capacity::{MAY_BE_STALE, RECONCILE_FAILED, RECONCILE_SUCCEEDED, UP_TO_DATE};
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{FlavorGroupCapacity, ProjectQuota, ProjectQuotaSpec, Time, names, testing};
use berth_liquid::info;
use berth_testkit::{Fault, Verb, seeds};
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
    let ram = json!({ "resource": "hw_version_mem_v4_ram", "unit": "GiB", "running": 480, "reserved": 480, "free": 960,
                      "capacity": 1920, "sold": 480, "quota": 1440 });
    assert_eq!(json["groups"][0]["resources"][0], ram);
    assert_eq!((&json["groups"][0]["ready"], &json["groups"][0]["ageSeconds"]), (&json!(true), &json!(12)));
    assert_eq!((&json["groups"][0]["tooOld"], &json["maxAgeSeconds"]), (&json!(false), &json!(900)));
}

/// The service info that Limes was told, with this unit for the RAM of every group.
async fn service_info(scene: &Scene, unit_gib: u64) -> ServiceInfo {
    let any = GroupResources { ram_unit_gib: unit_gib, ..GroupResources::default() };
    let config: ResourceConfig = [("*".into(), any)].into_iter().collect();
    let groups = scene.snapshot().await.flavor_groups().unwrap().groups;
    ServiceInfo::new(7, build_resources(&groups, &config).unwrap())
}

fn publish(scene: &Scene, info: &ServiceInfo) {
    let data = json!({ "info": serde_json::to_string(info).unwrap(), "version": info.version.to_string() });
    let meta = json!({ "name": info::NAME, "namespace": "elsewhere" });
    scene.home.create_raw(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data })).unwrap();
}

#[tokio::test(start_paused = true)]
async fn ram_is_in_the_published_unit_even_if_another_one_is_configured() {
    let scene = Scene::new(&[("node1", 4)]);
    scene.commit(&seeds::waiting_commitment("uuid-1", 1)).await;
    let mut object = capacity(&scene, true);
    let status = object.status.as_mut().unwrap();
    (status.running_units, status.reserved_units) = (Some(1), Some(1));
    scene.home.create(&object).unwrap();
    scene.home.create(&quota("p1", 960)).unwrap();
    let info = service_info(&scene, 480).await;
    publish(&scene, &info);
    let view = view(&scene, testing::ZONE).await.unwrap();
    let shown = text(&view);
    assert!(shown.contains("\n  RAM (480 GiB)        1         1     2         4     1      2\n"), "{shown}");
    for row in &view.groups[0].resources {
        assert_eq!(info.resources[&row.resource].unit, row.unit, "{}", row.resource);
    }
}

#[tokio::test(start_paused = true)]
async fn units_that_cannot_be_read_are_reported() {
    let scene = Scene::new(&[("node1", 4)]);
    scene.home.create(&capacity(&scene, true)).unwrap();
    let snapshot = scene.snapshot().await;
    scene.home.fail_always(Verb::Get, "/api/v1/namespaces/default/configmaps", Fault::Forbidden);
    let shown = text(&explain(&snapshot, testing::ZONE, scene.clock.now()).await.unwrap());
    let warning = "The units of Limes are unknown, and RAM is in the configured ones: ";
    assert!(shown.contains(warning) && shown.contains("RAM (GiB)      480"), "{shown}");
}

/// The state of the only group, after so many seconds.
async fn state_after(object: impl Fn(&Scene) -> FlavorGroupCapacity, seconds: u64) -> String {
    let scene = Scene::new(&[("node1", 4)]);
    scene.home.create(&object(&scene)).unwrap();
    scene.later(seconds).await;
    let view = view(&scene, testing::ZONE).await.unwrap();
    state(&view.groups[0], view.max_age_seconds)
}

/// Up to date, but without the VMs.
fn without_vms(scene: &Scene) -> FlavorGroupCapacity {
    let mut object = capacity(scene, true);
    object.status.as_mut().unwrap().conditions[0].message = format!("{UP_TO_DATE}, except for the running VMs: gone");
    object
}

#[tokio::test(start_paused = true)]
async fn numbers_that_may_be_old_are_marked_with_all_reasons() {
    let [ready, failed] = [true, false].map(|is_ready| move |scene: &Scene| capacity(scene, is_ready));
    assert_eq!(state_after(ready, 60).await, "up to date, written 1m 0s ago");
    assert_eq!(state_after(ready, 960).await, "NOT READY, written 16m 0s ago: too old (more than 15m 0s)");
    assert_eq!(state_after(failed, 60).await, format!("NOT READY, written 1m 0s ago: {MAY_BE_STALE}"));
    let why = "capacity data is up-to-date, except for the running VMs: gone";
    assert_eq!(state_after(without_vms, 60).await, format!("up to date, written 1m 0s ago: {why}"));
    let both = format!("NOT READY, written 16m 0s ago: too old (more than 15m 0s); {why}");
    assert_eq!(state_after(without_vms, 960).await, both);
    let never = |scene: &Scene| FlavorGroupCapacity { status: None, ..capacity(scene, true) };
    assert_eq!(state_after(never, 60).await, "NOT READY, never written");
    let unread = |scene: &Scene| {
        let mut object = capacity(scene, false);
        object.status.as_mut().unwrap().last_reconcile_at = None;
        object
    };
    assert_eq!(state_after(unread, 60).await, format!("NOT READY, never written: {MAY_BE_STALE}"));
}

#[tokio::test(start_paused = true)]
async fn a_zone_without_capacities_and_an_unknown_one_say_so() {
    let scene = Scene::new(&[("node1", 4)]);
    let shown = text(&view(&scene, testing::ZONE).await.unwrap());
    assert!(shown.contains("1 host\n") && shown.contains("No capacity was written yet"), "{shown}");
    let error = view(&scene, "eu-test-1").await.unwrap_err().to_string();
    assert!(error.contains("zone") && error.contains(testing::ZONE), "{error}");
}
