//! The usage of commitments: what the objects show is what Limes reads. Runs the real binary.

use std::collections::BTreeMap;

use berth_crds::{names, testing};
use serde_json::{Value, json};

use crate::support::desk::{Desk, json_of};
use crate::support::http;
use crate::support::objects::{GROUP, SLOT_GIB, ZONE, host, non_rejectable};
use crate::support::seen::{Seen, amount};
use crate::support::vm_table::{self, VmFile};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const UUID: &str = "used-by-vms-1";
fn shows(seen: &Seen, vms: &[&str]) -> Result<(), String> {
    let status = seen.commitment(UUID).and_then(|commitment| commitment.status.clone()).unwrap_or_default();
    let used = (status.used_declared_gib, amount(&status.used_resources, "memory"));
    let gib = i64::try_from(SLOT_GIB).unwrap() * i64::try_from(vms.len()).unwrap();
    let is_right = status.assigned_instances == vms && used == (Some(gib), gib << 30);
    so(is_right, || format!("{:?}, {used:?}", status.assigned_instances))
}

/// The VMs of the report and the commitments that cover them; fails unless memory and cores agree with them.
async fn reported(world: &World, project: &str) -> Result<BTreeMap<String, Value>, String> {
    let path = format!("/commitments/v1/projects/{project}/report-usage");
    let body = json!({ "allAZs": [ZONE] }).to_string();
    let answer = http::post(world.operator().api(), &path, body.as_bytes()).await.ok_or("no answer")?;
    so(answer.status == 200, || answer.body.clone())?;
    let report: Value = serde_json::from_str(&answer.body).map_err(|error| error.to_string())?;
    let of = |kind: &str| report["resources"][format!("hw_version_{GROUP}_{kind}")]["perAZ"][ZONE].clone();
    let vms: Vec<Value> = of("instances")["subresources"].as_array().cloned().unwrap_or_default();
    let units = [("instances", vms.len()), ("ram", vms.len()), ("cores", 30 * vms.len())];
    for (kind, expected) in units {
        so(of(kind)["usage"] == expected, || format!("{kind}: {}", of(kind)))?;
    }
    let pair = |vm: &Value| (vm["id"].as_str().unwrap().to_owned(), vm["attributes"]["commitment_id"].clone());
    Ok(vms.iter().map(pair).collect())
}

#[tokio::test]
async fn limes_reads_the_usage_that_the_commitments_show() {
    let table = VmFile::create();
    let commitment = non_rejectable(UUID, 2);
    let project = commitment.spec.project_id.clone();
    for (number, vm) in ["vm-1", "vm-2", "vm-3"].iter().enumerate() {
        let created = format!("2026-02-0{}T08:00:00Z", number + 1);
        table.run(&vm_table::server(vm, &project, testing::FLAVOR, &created));
    }
    let mut world = World::without_operator().await;
    world.create(&host("node1", 8)).await;
    for vm in ["vm-1", "vm-2", "vm-3"] {
        world.report_vm("node1", vm, SLOT_GIB).await;
    }
    let ram = json!({ "ramUnitGiB": SLOT_GIB, "handlesCommitments": true, "hasCapacity": true });
    let offers = json!({ "flavorGroupResourceConfig": { GROUP: { "ram": ram } } });
    world.use_keys(&json!({ "committedResourceAPI": offers, "vmSourceSqlite": table.path() }));
    world.start().await;
    world.create(&commitment).await;
    world.until("two VMs use the commitment", |seen| shows(seen, &["vm-1", "vm-2"])).await;
    let expect = async |world: &World, expected: &[(&str, Value)]| {
        let expected: BTreeMap<String, Value> =
            expected.iter().map(|(vm, by)| ((*vm).to_owned(), by.clone())).collect();
        let agrees = until(async || {
            let found = reported(world, &project).await?;
            so(found == expected, || format!("{found:?}"))
        });
        agrees.await.unwrap();
    };
    expect(&world, &[("vm-1", json!(UUID)), ("vm-2", json!(UUID)), ("vm-3", Value::Null)]).await;
    let desk = Desk::of(world.people());
    let config = desk.file("config.json", &json!({ "vmSourceSqlite": table.path() }).to_string());
    let name = names::commitment(UUID);
    let explained = desk.shown(&["explain", "commitment", &name, "-o=json", &format!("--config={config}")]).await;
    let usage = json_of(&explained)["usage"].take();
    assert_eq!((&usage["unknown"], usage["vms"].as_array().map(Vec::len)), (&Value::Null, Some(2)), "{usage}");
    let why = "no memory commitment in its zone and flavor group has enough left";
    assert_eq!(usage["withoutCommitment"], json!([{ "vm": "vm-3", "why": why }]));

    table.run("DELETE FROM openstack_servers_v4 WHERE id = 'vm-1'");
    world.report_without_vm("node1", "vm-1", SLOT_GIB).await;
    world.until("the next VM follows", |seen| shows(seen, &["vm-2", "vm-3"])).await;
    expect(&world, &[("vm-2", json!(UUID)), ("vm-3", json!(UUID))]).await;

    world.respec(UUID, json!({ "state": "superseded" })).await;
    let is_unused = |seen: &Seen| {
        let status = seen.commitment(UUID).and_then(|commitment| commitment.status.clone()).unwrap_or_default();
        so(status.assigned_instances.is_empty() && status.used_resources.is_empty(), || format!("{status:?}"))
    };
    world.until("an ended commitment has no usage", is_unused).await;
    expect(&world, &[("vm-2", Value::Null), ("vm-3", Value::Null)]).await;
    world.end().await;
}
