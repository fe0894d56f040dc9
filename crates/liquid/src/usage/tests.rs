//! Reports from stores that are filled by hand.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::indexes::{COMMITMENT_INDEXES, HYPERVISOR_INDEXES, QUOTA_INDEXES};
use berth_cluster::testing::{applied_raw, filled};
use berth_core::flavor::Flavor;
use berth_core::liquid::info::build_resources;
use berth_core::{ClusterName, FlavorName};
use berth_crds::{ProjectQuotaSpec, testing};
use berth_telemetry::clock::TokioClock;
use berth_vm_source::{VmRow, VmSnapshot};
use serde_json::{Value, json};

use super::*;
use crate::info::tests::{changed, config, features, groups, knowledge, knowledges, source};

const PROJECT: &str = "p-1";
const ZONE: &str = "eu-x-1a";

fn flavor() -> FlavorName {
    groups(&features()).get(&"gp_v1".into()).unwrap().flavors[0].name.clone()
}

pub(crate) fn row(id: &str) -> VmRow {
    let row = VmRow { id: id.into(), name: id.into(), project: PROJECT.into(), zone: ZONE.into(), ..VmRow::default() };
    VmRow { host: "node-1".into(), flavor: flavor(), status: "ACTIVE".into(), os_type: "unknown".into(), ..row }
}

/// A source with a snapshot of now, in which every row has a known flavor.
pub(crate) fn vms(rows: Vec<VmRow>) -> VmSource {
    let source = VmSource::new(Arc::new(TokioClock::new(changed())), Duration::from_secs(3600));
    let known: Vec<Flavor> = groups(&features()).iter().flat_map(|group| group.flavors.clone()).collect();
    source.publish(VmSnapshot::new(rows, known, changed()));
    source
}

/// A commitment of the project that covers these VMs.
fn covering(uuid: &str, vms: &[&str]) -> CommittedResource {
    let mut object = testing::commitment(uuid, "64Gi");
    object.spec.project_id = PROJECT.to_owned();
    object.status.get_or_insert_default().assigned_instances = vms.iter().map(|vm| (*vm).to_owned()).collect();
    object
}

pub(crate) fn reports(commitments: Vec<CommittedResource>, vms: VmSource) -> UsageReports {
    let home = ClusterName::home();
    UsageReports {
        groups: source(&knowledges([knowledge(&features(), changed())])).groups,
        commitments: filled(COMMITMENT_INDEXES, &home, commitments),
        hypervisors: filled(HYPERVISOR_INDEXES, &home, []),
        quotas: filled(QUOTA_INDEXES, &home, []),
        vms,
    }
}

fn info() -> ServiceInfo {
    ServiceInfo::new(7, build_resources(&groups(&features()), &config()).unwrap())
}

fn ask(reports: &UsageReports) -> Result<Value, UsageError> {
    let asked = UsageRequest { zones: [Zone::new(ZONE)].into() };
    let report = reports.report(&info(), &PROJECT.into(), &asked)?;
    Ok(serde_json::from_str(&report).unwrap())
}

/// The VMs in a zone and what covers them.
fn covers(report: &Value, zone: &str) -> Vec<(String, Value)> {
    let instances = &report["resources"]["hw_version_gp_v1_instances"]["perAZ"][zone]["subresources"];
    let of = |vm: &Value| (vm["id"].as_str().unwrap().to_owned(), vm["attributes"]["commitment_id"].clone());
    instances.as_array().into_iter().flatten().map(of).collect()
}

#[tokio::test(start_paused = true)]
async fn the_report_tells_which_commitment_covers_which_vm() {
    let mut cores = covering("cores-1", &["vm-3"]);
    cores.spec.resource_type = ResourceType::Cores;
    let commitments = vec![covering("b-0001", &["vm-1"]), covering("a-0001", &["vm-1", "vm-2"]), cores];
    let rows = ["vm-3", "vm-2", "vm-1"].map(row).into();
    let report = ask(&reports(commitments, vms(rows))).unwrap();
    let expected = [("vm-1", json!("a-0001")), ("vm-2", json!("a-0001")), ("vm-3", Value::Null)];
    assert_eq!(covers(&report, ZONE), expected.map(|(vm, covered)| (vm.to_owned(), covered)));
    assert_eq!(report["infoVersion"], 7);
}

#[tokio::test(start_paused = true)]
async fn commitments_may_be_in_remote_clusters_alone() {
    let mut reports = reports(Vec::new(), vms(vec![row("vm-1")]));
    reports.commitments = filled(COMMITMENT_INDEXES, &"az-b".into(), [covering("a-0001", &["vm-1"])]);
    assert_eq!(covers(&ask(&reports).unwrap(), ZONE), [("vm-1".to_owned(), json!("a-0001"))]);
}

#[tokio::test(start_paused = true)]
async fn a_vm_counts_in_the_zone_of_the_host_that_lists_it() {
    let mut host = testing::hypervisor("node-9", "64Gi", "16");
    host.metadata.labels = Some([("topology.kubernetes.io/zone".to_owned(), ZONE.to_owned())].into());
    let instances = json!([{ "id": "vm-1", "name": "vm-1", "active": true }]);
    host.status.get_or_insert_default().instances = serde_json::from_value(instances).unwrap();
    let elsewhere = |id| VmRow { zone: "eu-x-1b".into(), ..row(id) };
    let mut reports = reports(Vec::new(), vms(vec![elsewhere("vm-1"), elsewhere("vm-2")]));
    reports.hypervisors = filled(HYPERVISOR_INDEXES, &ClusterName::home(), [host]);
    let report = ask(&reports).unwrap();
    assert_eq!(covers(&report, ZONE), [("vm-1".to_owned(), Value::Null)]);
    assert_eq!(covers(&report, "unknown"), [("vm-2".to_owned(), Value::Null)]);
}

#[tokio::test(start_paused = true)]
async fn a_vm_on_a_host_without_a_zone_counts_in_the_zone_of_its_row() {
    let mut host = testing::hypervisor("node-9", "64Gi", "16");
    host.metadata.labels = None;
    let instances = json!([{ "id": "vm-1", "name": "vm-1", "active": true }]);
    host.status.get_or_insert_default().instances = serde_json::from_value(instances).unwrap();
    let mut reports = reports(Vec::new(), vms(vec![row("vm-1")]));
    reports.hypervisors = filled(HYPERVISOR_INDEXES, &ClusterName::home(), [host]);
    assert_eq!(covers(&ask(&reports).unwrap(), ZONE), [("vm-1".to_owned(), Value::Null)]);
}

#[tokio::test(start_paused = true)]
async fn the_stored_quota_of_the_project_is_reported_in_declared_units() {
    let spec = ProjectQuotaSpec {
        project_id: PROJECT.to_owned(),
        availability_zone: ZONE.to_owned(),
        quota: [("hw_version_gp_v1_ram".to_owned(), 256)].into(),
        ..ProjectQuotaSpec::default()
    };
    let mut reports = reports(Vec::new(), vms(Vec::new()));
    reports.quotas = filled(QUOTA_INDEXES, &ClusterName::home(), [ProjectQuota::new("quota-p-1", spec)]);
    let report = ask(&reports).unwrap();
    let shown = &report["resources"]["hw_version_gp_v1_ram"]["perAZ"][ZONE];
    let has_quota = info().resources["hw_version_gp_v1_ram"].has_quota;
    assert_eq!(shown.get("quota"), has_quota.then(|| json!(256)).as_ref());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reported_while_a_source_is_missing() {
    let fails = |reports: &UsageReports| ask(reports).unwrap_err().to_string();
    assert_eq!(fails(&reports(Vec::new(), VmSource::none())), "failed to get project VMs: vm source not configured");

    let old = vms(Vec::new());
    tokio::time::advance(Duration::from_secs(3601)).await;
    let text = fails(&reports(Vec::new(), old));
    assert!(text.starts_with("failed to get project VMs: failed to list VMs from source: "), "{text}");

    let without_groups =
        UsageReports { groups: source(&knowledges([])).groups, ..reports(Vec::new(), vms(Vec::new())) };
    assert!(fails(&without_groups).starts_with("failed to get flavor groups: failed to get flavor groups knowledge: "));

    let unread = UsageReports { commitments: Store::new(COMMITMENT_INDEXES), ..reports(Vec::new(), vms(Vec::new())) };
    let text = fails(&unread);
    assert!(
        text.starts_with("failed to read VM assignments from CRD status: failed to list CommittedResources: "),
        "{text}"
    );
    assert!(text.contains("it is not watched"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn only_an_unreadable_commitment_of_the_project_stops_its_report() {
    let with = |project: Value| {
        let reports = reports(Vec::new(), vms(Vec::new()));
        let raw = json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommittedResource", "metadata": {"name": "odd"},
            "spec": {"projectID": project, "amount": {"not": "a quantity"}},
        });
        applied_raw(&reports.commitments, &ClusterName::home(), raw).unwrap();
        ask(&reports)
    };
    assert!(with(json!("other")).is_ok());
    for concerned in [json!(PROJECT), Value::Null] {
        let error = with(concerned).unwrap_err().to_string();
        assert!(error.contains("CommittedResource odd cannot be read"), "{error}");
    }
}
