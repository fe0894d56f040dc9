//! The VMs of the cloud, read from the database of a Datasource. Runs the real binary.

use std::fs;

use berth_crds::{Datasource, testing};
use berth_postgres::Postgres;
use serde_json::json;

use crate::support::objects::host;
use crate::support::vm_table::{self, TABLES};
use crate::support::world::{World, shipped};

/// A server of the project `p`.
fn server(id: &str, flavor: &str) -> String {
    vm_table::server(id, "p", flavor, "2026-02-01T08:00:00Z")
}

/// The Secret `vms` with the access to a database of the cluster, which the operator may not read yet.
pub async fn create_secret(world: &World, postgres: &Postgres, database: &str) {
    let url = postgres.url(database);
    let (_, port) = url.rsplit_once('/').unwrap().0.rsplit_once(':').unwrap();
    let values =
        [("host", "127.0.0.1"), ("user", "berth"), ("password", "any"), ("port", port), ("database", database)];
    let values = values.map(|(key, value)| format!("--from-literal={key}={value}"));
    let _ = world.try_kubectl(&["delete", "secret", "vms", "--namespace=berth-system"]).await;
    let mut arguments = vec!["create", "secret", "generic", "vms", "--namespace=berth-system"];
    arguments.extend(values.iter().map(String::as_str));
    world.kubectl(&arguments).await;
}

/// With the role that is shipped for another Secret.
pub async fn grant_secret(world: &mut World) {
    let roles = fs::read_to_string(format!("{}/operator.yaml", shipped("rbac/secrets"))).unwrap();
    let roles = roles.replace("berth-secrets", "vms").replace("\"keystone\"", "vms");
    world.control_plane().run_kubectl(&["apply", "--filename", "-"], Some(&roles)).await.unwrap();
}

#[tokio::test]
async fn the_database_of_a_datasource_is_read_as_soon_as_it_can_be() {
    let postgres = berth_postgres::shared().await.unwrap();
    postgres.create("story_vms").await.unwrap();
    let rows = format!("{TABLES} {} {}", server("vm-1", testing::FLAVOR), server("vm-2", "small"));
    postgres.ask("story_vms", &rows).await.unwrap();
    let mut world = World::without_operator().await;
    for kind in ["role", "rolebinding"] {
        // They may be left from an earlier run.
        let _ = world.try_kubectl(&["delete", kind, "vms", "-n", "berth-system"]).await;
    }
    world.create(&host("node1", 2)).await;
    world.report_vm("node1", "vm-1", 480).await;
    world.start().await;
    world.until_metric("berth_vm_source_configured", &[], 0).await;

    create_secret(&world, postgres, "story_vms").await;
    let datasource = json!({ "metadata": { "name": "nova-servers" }, "spec": {
        "schedulingDomain": "nova", "type": "openstack",
        "databaseSecretRef": { "name": "vms", "namespace": "berth-system" },
    } });
    world.create_raw::<Datasource>(datasource).await.unwrap();
    world.event_says("DatabaseSecretUnusable", "failed to get secret berth-system/vms").await;
    world.until_metric("berth_vm_source_configured", &[], 1).await;
    grant_secret(&mut world).await;
    world.until_metric("berth_vm_source_vms", &[], 2).await;
    world.until_metric("berth_vms_unlisted", &[testing::ZONE], 1).await;
    world.report_vm("node1", "vm-2", 240).await;
    world.until_metric("berth_vms_unlisted", &[testing::ZONE], 0).await;
    world.until_metric("cortex_db_connections_open", &["story_vms"], 1).await;

    postgres.ask("story_vms", &server("vm-3", "small")).await.unwrap();
    world.report_vm("node1", "vm-3", 240).await;
    world.until_metric("berth_vm_source_vms", &[], 3).await;
    let log = world.operator().log();
    assert!(log.contains("connection to the database of VMs not encrypted"), "{log}");
    world.end().await;
}
