//! Capacity, usage and quota: what the objects show is what Limes reads and what operators see. Runs the real binary.

use berth_crds::{FlavorGroupCapacity, Hypervisor, names, testing};
use serde_json::{Value, json};

use crate::support::desk::{Desk, json_of};
use crate::support::http;
use crate::support::objects::{GROUP, SLOT_GIB, ZONE, host, non_rejectable};
use crate::support::vm_table::{self, VmFile};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const UUID: &str = "sold-1";
/// All that serve capacity, usage and quota.
pub const CONTROLLERS: [&str; 5] = [
    "committed-resource-reservations-controller",
    "capacity-controller",
    "quota-controller",
    "inflight-reservation-controller",
    "nova-pipeline-controllers",
];

/// All that Limes is offered, RAM in units of a slot; cycles as fast as changes.
fn keys(table: &VmFile) -> Value {
    let of = |more: Value| {
        let mut offer = json!({ "hasCapacity": true, "hasQuota": true });
        offer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        offer
    };
    let group = json!({
        "ram": of(json!({ "ramUnitGiB": SLOT_GIB, "handlesCommitments": true })), "cores": of(json!({})),
        "instances": of(json!({})),
    });
    json!({
        "enabledControllers": CONTROLLERS, "capacityReconcileInterval": "3s", "capacityMinReconcileInterval": "1s",
        "committedResourceAPI": { "flavorGroupResourceConfig": { GROUP: group } }, "vmSourceSqlite": table.path(),
    })
}

/// A world whose only host has so many free slots, which its operator has reported.
async fn world_of_slots(slots: u32, table: &VmFile) -> World {
    let mut world = World::without_operator().await;
    world.create(&host("node1", slots.into())).await;
    world.use_keys(&keys(table));
    world.start().await;
    until_parts(&world, [0, 0, slots.into()]).await;
    world
}

/// Capacity and usage of RAM, cores and instances, as Limes reads them.
async fn reported(world: &World) -> Result<[(i64, i64); 3], String> {
    let body = json!({ "allAZs": [ZONE] }).to_string();
    let answer = http::post(world.operator().api(), "/commitments/v1/report-capacity", body.as_bytes()).await;
    let answer = answer.ok_or("no answer")?;
    so(answer.status == 200, || answer.body.clone())?;
    let report: Value = serde_json::from_str(&answer.body).map_err(|error| error.to_string())?;
    let of = |kind: &str| {
        let zone = &report["resources"][format!("hw_version_{GROUP}_{kind}")]["perAZ"][ZONE];
        (zone["capacity"].as_i64().unwrap_or(-1), zone["usage"].as_i64().unwrap_or(-1))
    };
    Ok(["ram", "cores", "instances"].map(of))
}

async fn until_reported(world: &World, expected: [(i64, i64); 3]) {
    let agrees = async || {
        let found = reported(world).await?;
        so(found == expected, || format!("{found:?}"))
    };
    until(agrees).await.unwrap();
}

/// Slots that run, are reserved and are free.
async fn until_parts(world: &World, expected: [i64; 3]) {
    let name = names::flavor_group_capacity(GROUP, ZONE);
    world
        .until(&format!("{expected:?}"), |seen| {
            let object = seen.capacities.iter().find(|one| one.metadata.name.as_deref() == Some(&name));
            let status = object.and_then(|object| object.status.clone()).unwrap_or_default();
            let parts = [status.running_instances, status.reserved_instances, status.exclusively_free_slots];
            so(parts.map(Option::unwrap_or_default) == expected, || format!("{parts:?}"))
        })
        .await;
}

async fn push_quota(world: &World, project: &str, ram: u64) {
    let quota = |number: u64| json!({ "quota": number, "perAZ": { ZONE: { "quota": number } } });
    let resource = |kind: &str| format!("hw_version_{GROUP}_{kind}");
    let body = json!({ "resources": { resource("ram"): quota(ram), resource("cores"): quota(90) } }).to_string();
    let path = format!("/commitments/v1/projects/{project}/quota");
    let answer = http::send(world.operator().api(), "PUT", &path, body.len(), body.as_bytes()).await.unwrap();
    assert_eq!(answer.status, 204, "{}", answer.body);
}

#[tokio::test]
async fn one_number_goes_through_all_reports() {
    let table = VmFile::create();
    let commitment = non_rejectable(UUID, 2);
    let project = commitment.spec.project_id.clone();
    table.run(&vm_table::server("vm-1", &project, testing::FLAVOR, "2026-02-01T08:00:00Z"));
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    world.report_vm("node1", "vm-1", SLOT_GIB).await;
    world.use_keys(&keys(&table));
    world.start().await;
    let whole = [(4, 1), (120, 30), (4, 1)];
    until_reported(&world, whole).await;
    until_parts(&world, [1, 0, 3]).await;

    push_quota(&world, &project, 3).await;
    world.create(&commitment).await;
    world.accepted(UUID).await;
    // One of the two slots takes the VM in.
    until_parts(&world, [1, 1, 2]).await;
    until_reported(&world, whole).await;
    let quota = names::project_quota(&project, ZONE);
    let summaries = "jsonpath={.status.limesUsageSummary} {.status.limesQuotaSummary} {.status.paygUsageSummary}";
    let expected = format!("{GROUP}: c=30 i=1 r=1 {GROUP}: c=90 i=0 r=3 {GROUP}: c=30 i=1 r=0");
    until(async || {
        let found = world.kubectl(&["get", "projectquota", &quota, "--output", summaries]).await;
        so(found == expected, || found)
    })
    .await
    .unwrap();

    let desk = Desk::of(world.people());
    // Limes was told the unit of RAM, so this configuration need not have it.
    let config = desk.file("config.json", "{}");
    let shown = desk.shown(&["explain", "zone", ZONE, "-o=json", &format!("--config={config}")]).await;
    let shown = json_of(&shown);
    let group = shown["groups"].as_array().unwrap().iter().find(|group| group["group"] == GROUP).unwrap();
    let numbers = |row: usize| {
        let row = &group["resources"][row];
        ["running", "reserved", "free", "capacity", "sold", "quota"].map(|name| row[name].clone())
    };
    assert_eq!(group["ready"], true, "{group}");
    assert_eq!(numbers(0), [1, 1, 2, 4, 2, 3].map(Value::from), "RAM: {group}");
    assert_eq!(numbers(1), [30, 30, 60, 120, 0, 90].map(Value::from), "cores: {group}");
    let ready = format!(r#"cortex_committed_resource_capacity_ready{{az="{ZONE}",flavor_group="{GROUP}"}} 1"#);
    assert!(world.operator().metrics().await.contains(&ready));

    world.delete_commitment(UUID).await;
    until_parts(&world, [1, 0, 3]).await;
    until_reported(&world, whole).await;
    world.end().await;
}

#[tokio::test]
async fn a_capacity_goes_with_its_zone_and_comes_back_with_it() {
    let table = VmFile::create();
    let world = world_of_slots(2, &table).await;
    world.delete::<Hypervisor>("node1").await;
    world.until("the capacity is gone", |seen| so(seen.capacities.is_empty(), || "it is there".to_owned())).await;
    until_reported(&world, [(0, -1); 3]).await;
    world.create(&host("node1", 3)).await;
    until_parts(&world, [0, 0, 3]).await;
    let name = names::flavor_group_capacity(GROUP, ZONE);
    let columns = world.kubectl(&["get", "flavorgroupcapacity", &name, "--no-headers"]).await;
    assert!(columns.contains("True") && columns.contains(GROUP), "{columns}");
    world.delete::<FlavorGroupCapacity>(&name).await;
    until_parts(&world, [0, 0, 3]).await;
    world.end().await;
}

#[tokio::test]
async fn quota_that_is_pushed_again_without_a_zone_is_deleted_and_an_empty_one_is_refused() {
    let table = VmFile::create();
    let world = world_of_slots(2, &table).await;
    push_quota(&world, "p-1", 2).await;
    let count = async || world.kubectl(&["get", "projectquotas", "--output=name"]).await.lines().count();
    assert_eq!(count().await, 1);
    let path = "/commitments/v1/projects/p-1/quota";
    let api = world.operator().api();
    let answer = http::send(api, "PUT", path, 17, br#"{"resources": {}}"#).await.unwrap();
    assert_eq!((answer.status, answer.body.trim_end()), (400, "quota request contains no resources"));
    assert_eq!(count().await, 1);
    let answer = http::send(api, "POST", path, 2, b"{}").await.unwrap();
    assert_eq!(answer.status, 405);
    let none = br#"{"resources": {"hw_version_x_ram": {"perAZ": {}}}}"#;
    let answer = http::send(api, "PUT", path, none.len(), none).await.unwrap();
    assert_eq!(answer.status, 204, "{}", answer.body);
    assert_eq!(count().await, 0);
    world.end().await;
}
