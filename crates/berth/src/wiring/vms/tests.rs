//! The Datasource, the lists of hosts and the snapshot, on stores of the test.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::Routes;
use berth_cluster::testing::{applied, deleted, failing, opened, sync, take_smallest};
use berth_core::flavor::Flavor;
use berth_telemetry::config::Configuration;
use berth_testkit::Server;
use berth_vm_source::{FailureKind, VmRow, VmSnapshot};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::wiring::MemorySettings;

fn home() -> ClusterName {
    ClusterName::home()
}

fn datasource(name: &str, version: u32) -> Datasource {
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Datasource",
        "metadata": { "name": name, "uid": "u", "resourceVersion": version.to_string() },
        "spec": {
            "schedulingDomain": "nova", "type": "openstack",
            "databaseSecretRef": { "name": "cortex-nova-postgres", "namespace": "cortex-system" },
        },
        "status": { "lastSynced": "2026-03-02T12:00:00Z", "numberOfObjects": 4211 },
    }))
    .unwrap()
}

fn host(name: &str, version: u32, vms: &[&str]) -> Hypervisor {
    let instances: Vec<Value> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": true })).collect();
    serde_json::from_value(json!({
        "apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor",
        "metadata": {
            "name": name, "uid": name, "resourceVersion": version.to_string(),
            "labels": { "topology.kubernetes.io/zone": "az-1" },
        },
        "spec": {}, "status": { "instances": instances },
    }))
    .unwrap()
}

fn reader(stores: &Stores) -> HomeDatasource {
    let clusters: Clusters = Server::new(Arc::new(SystemClock)).cluster().into();
    let (store, key) = (stores.datasources.clone(), datasource_key(&Configuration::default().common));
    HomeDatasource { store, key, is_required: false, clusters }
}

#[tokio::test]
async fn the_datasource_is_absent_unknown_or_present() {
    let stores = Stores::default();
    let reader = reader(&stores);
    assert_eq!((reader.name(), reader.find()), ("nova-servers", FoundDatasource::Absent), "no cluster serves the kind");
    sync(&stores, &home());
    assert_eq!(reader.find(), FoundDatasource::Absent);
    failing(&stores.datasources, &home(), Some("cut"));
    assert!(matches!(reader.find(), FoundDatasource::Unknown(why) if why.contains("cut")));
    applied(&stores.datasources, &home(), datasource("nova-servers", 1));
    let FoundDatasource::Present(state) = reader.find() else { panic!("it is there") };
    assert_eq!(state.secret.to_string(), "cortex-system/cortex-nova-postgres");
    assert_eq!((state.number_of_objects, state.last_synced), (Some(4211), "2026-03-02T12:00:00Z".parse().ok()));
}

#[tokio::test]
async fn the_lists_of_all_hosts_are_visited() {
    let stores = Stores::default();
    let lists = HostLists(stores.hypervisors.clone());
    sync(&stores, &home());
    applied(&stores.hypervisors, &home(), host("node1", 1, &["a", "b"]));
    applied(&stores.hypervisors, &home(), host("node2", 1, &[]));
    let mut visited = BTreeSet::new();
    lists.visit(&mut |vm, zone| _ = visited.insert((vm.to_owned(), zone.to_owned())));
    assert_eq!(visited, ["a", "b"].map(|vm| (vm.to_owned(), "az-1".to_owned())).into());
    assert!(lists.is_complete());
    failing(&stores.hypervisors, &home(), Some("cut"));
    assert!(!lists.is_complete());
}

#[tokio::test(start_paused = true)]
async fn the_refresher_hears_of_its_datasource_and_of_vms_that_come_and_go() {
    let stores = Stores::default();
    let signals = follow(&stores, datasource_key(&Configuration::default().common));
    sync(&stores, &home());
    let is_heard = async || tokio::time::timeout(Duration::from_secs(1), signals.changed()).await.is_ok();
    applied(&stores.datasources, &home(), datasource("other", 1));
    assert!(!is_heard().await);
    applied(&stores.datasources, &home(), datasource("nova-servers", 2));
    assert!(is_heard().await);
    deleted(&stores.datasources, &home(), datasource("nova-servers", 3));
    assert!(is_heard().await);
    applied(&stores.hypervisors, &home(), host("node1", 4, &["a"]));
    assert!(is_heard().await);
    applied(&stores.hypervisors, &home(), host("node1", 5, &["a"]));
    assert!(!is_heard().await, "the same VMs");
    applied(&stores.hypervisors, &home(), host("node1", 6, &["b"]));
    assert!(is_heard().await);
}

fn memory() -> Memory {
    let vms = VmSource::new(Arc::new(SystemClock), Duration::from_secs(3600));
    Memory::new(MemorySettings { vms, ..MemorySettings::default() }, &Routes::home_only())
}

fn snapshot(memory_mib: u64, as_of: Timestamp) -> VmSnapshot {
    let flavor = Flavor { name: "m1".into(), vcpus: 2, memory_mib, disk_gib: 0, extra_specs: [].into() };
    let row = VmRow { id: "vm-1".into(), host: "node1".into(), flavor: "m1".into(), ..VmRow::default() };
    VmSnapshot::new(vec![row], vec![flavor], as_of)
}

#[tokio::test]
async fn sizes_are_those_of_a_snapshot_that_may_be_used() {
    let memory = memory();
    let sizes = SnapshotVmSizes::new(memory.vms.clone());
    let size = async |vm: &str| sizes.size(&vm.into()).await.unwrap().map(|size| size.memory);
    assert_eq!(size("vm-1").await, None, "nothing was read");
    memory.vms.publish(snapshot(1024, Timestamp::now()));
    assert_eq!(size("vm-1").await, Some(berth_core::Bytes::from_mib(1024)));
    assert_eq!(size("vm-2").await, None);
    memory.vms.publish(snapshot(1024, Timestamp::UNIX_EPOCH));
    assert_eq!(size("vm-1").await, None, "too old");
}

#[tokio::test]
async fn each_snapshot_requests_the_in_flight_reservations_and_no_others() {
    let memory = memory();
    sync(&memory.stores, &home());
    let mut flight = berth_crds::testing::slot("flight", 0);
    flight.spec.committed_resource_reservation = None;
    flight.spec.in_flight_reservation.get_or_insert_default();
    let flown = ObjectKey::new(home(), flight.metadata.name.clone().unwrap().as_str());
    applied(&memory.stores.reservations, &home(), flight);
    applied(&memory.stores.reservations, &home(), berth_crds::testing::slot("slot", 0));
    let requests = opened();
    request_with_snapshots(&memory, requests.clone());
    memory.vms.publish(snapshot(1024, Timestamp::now()));
    assert_eq!((take_smallest(&requests), take_smallest(&requests)), (Some(flown), None));
}

#[test]
fn an_event_says_why_and_that_the_former_data_stay() {
    let event =
        event(Failure { kind: FailureKind::TableEmptied, text: "failed to get servers: it is empty".to_owned() });
    assert_eq!((event.kind, event.reason.as_str()), (EventKind::Warning, "DatabaseTableEmptied"));
    assert_eq!(event.note, "failed to get servers: it is empty; the former data stay in use until they are too old");
}
