//! Reports from stores that are filled by hand.

use berth_cluster::indexes::{CAPACITY_INDEXES, HYPERVISOR_INDEXES};
use berth_cluster::testing::{applied_raw, filled};
use berth_core::ClusterName;
use berth_core::liquid::info::build_resources;
use berth_crds::conditions::Status;
use berth_crds::conditions::capacity::{MAY_BE_STALE, RECONCILE_FAILED, RECONCILE_SUCCEEDED, UP_TO_DATE};
use berth_crds::{FlavorGroupCapacitySpec, Time, conditions, names, testing};
use berth_telemetry::clock::TokioClock;
use berth_telemetry::config::decode;
use serde_json::{Value, json};

use super::*;
use crate::info::tests::{changed, config, features, groups, knowledge, knowledges, source};
use crate::usage::tests::{row, vms};

const GROUP: &str = "gp_v1";
const ZONE: &str = "eu-x-1a";
const MAX_AGE: Duration = Duration::from_secs(900);

/// An object that was written when the clock of the reports starts.
fn object(group: &str, zone: &str, status: &Value) -> FlavorGroupCapacity {
    let spec = FlavorGroupCapacitySpec { flavor_group: group.to_owned(), availability_zone: zone.to_owned() };
    let mut object = FlavorGroupCapacity::new(&names::flavor_group_capacity(group, zone), spec);
    let mut status: berth_crds::FlavorGroupCapacityStatus = serde_json::from_value(status.clone()).unwrap();
    status.last_reconcile_at = Some(Time(changed()));
    status.conditions =
        vec![conditions::ready_condition(Status::True, RECONCILE_SUCCEEDED, UP_TO_DATE, None, changed())];
    object.status = Some(status);
    object
}

/// Ten running VMs, one slot held, and two free ones.
fn capacity() -> Value {
    json!({
        "runningInstances": 10, "runningUnits": 80, "runningResources": {"memory": "81760Mi", "cores": "20"},
        "reservedInstances": 1, "reservedUnits": 8, "reservedResources": {"memory": "8176Mi", "cores": "2"},
        "exclusivelyFreeSlots": 2, "exclusivelyFreeCapacity": {"memory": "16352Mi", "cores": "4"},
    })
}

fn stale(mut object: FlavorGroupCapacity) -> FlavorGroupCapacity {
    let failed = conditions::ready_condition(Status::False, RECONCILE_FAILED, MAY_BE_STALE, None, changed());
    object.status.as_mut().unwrap().conditions = vec![failed];
    object
}

pub(crate) fn reports(objects: Vec<FlavorGroupCapacity>) -> CapacityReports {
    let home = ClusterName::home();
    CapacityReports {
        groups: source(&knowledges([knowledge(&features(), changed())])).groups,
        capacities: filled(CAPACITY_INDEXES, &home, objects),
        hypervisors: filled(HYPERVISOR_INDEXES, &home, []),
        vms: VmSource::none(),
        routes: Routes::home_only(),
        clock: Arc::new(TokioClock::new(changed())),
        max_age: MAX_AGE,
    }
}

/// One object with capacity, for the tests of the server.
pub(crate) fn reports_of_one_object() -> CapacityReports {
    reports(vec![object(GROUP, ZONE, &capacity())])
}

fn info() -> ServiceInfo {
    let mut resources = build_resources(&groups(&features()), &config()).unwrap();
    for resource in resources.values_mut() {
        resource.has_capacity = true;
    }
    ServiceInfo::new(7, resources)
}

fn made(reports: &CapacityReports, zones: &[&str]) -> Result<MadeReport, CapacityError> {
    let zones = zones.iter().map(|zone| Zone::new(*zone)).collect();
    reports.report(&info(), &CapacityRequest { zones })
}

fn ask(reports: &CapacityReports, zones: &[&str]) -> Result<Value, String> {
    let made = made(reports, zones).map_err(|error| error.to_string())?;
    Ok(serde_json::from_str(&made.json).unwrap())
}

fn per_zone(report: &Value, kind: &str) -> Value {
    report["resources"][format!("hw_version_{GROUP}_{kind}")]["perAZ"].clone()
}

fn not_ready(group: &str, zone: &str) -> String {
    format!("one or more FlavorGroupCapacity CRDs are not ready: flavorGroup={group} az={zone}")
}

#[tokio::test(start_paused = true)]
async fn capacity_is_what_runs_is_held_and_is_free() {
    let report = ask(&reports_of_one_object(), &["eu-x-1b", ZONE]).unwrap();
    assert_eq!(report["infoVersion"], 7);
    let of = |capacity: u64, usage: u64| json!({"eu-x-1a": {"capacity": capacity, "usage": usage}, "eu-x-1b": {"capacity": 0}});
    assert_eq!(per_zone(&report, "ram"), of(104, 80));
    assert_eq!(per_zone(&report, "cores"), of(26, 20));
    assert_eq!(per_zone(&report, "instances"), of(13, 10));
    assert_eq!(report["resources"].as_object().unwrap().len(), info().resources.len(), "all with capacity");
    assert_eq!(per_zone(&ask(&reports_of_one_object(), &[]).unwrap(), "ram"), json!({}), "an empty request");
}

#[tokio::test(start_paused = true)]
async fn one_object_that_is_not_ready_stops_the_whole_report() {
    let ready = object(GROUP, ZONE, &capacity());
    let failed = stale(object(GROUP, "eu-x-1b", &capacity()));
    let three = reports(vec![ready, failed, stale(object("hana_v3", ZONE, &capacity()))]);
    assert_eq!(ask(&three, &["eu-x-1b", ZONE]), Err(not_ready(GROUP, "eu-x-1b")), "the first group by name");
    assert_eq!(ask(&three, &[ZONE]), Err(not_ready("hana_v3", ZONE)));
    assert!(ask(&three, &["eu-x-1c"]).is_ok(), "objects of other zones are not needed");
    let no_condition = FlavorGroupCapacity { status: None, ..object(GROUP, ZONE, &capacity()) };
    assert_eq!(ask(&reports(vec![no_condition]), &[ZONE]), Err(not_ready(GROUP, ZONE)));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_not_written_for_too_long_is_not_ready() {
    let written = reports_of_one_object();
    tokio::time::advance(MAX_AGE).await;
    assert!(ask(&written, &[ZONE]).is_ok());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(ask(&written, &[ZONE]), Err(not_ready(GROUP, ZONE)));
    let mut never = object(GROUP, ZONE, &capacity());
    never.status.as_mut().unwrap().last_reconcile_at = None;
    assert_eq!(ask(&reports(vec![never]), &[ZONE]), Err(not_ready(GROUP, ZONE)));
}

#[tokio::test(start_paused = true)]
async fn units_that_an_object_lacks_are_those_of_the_vms_that_hosts_list() {
    let mut status = capacity();
    status.as_object_mut().unwrap().remove("runningUnits");
    let without_vms = reports(vec![object(GROUP, ZONE, &status)]);
    assert_eq!(ask(&without_vms, &[ZONE]), Err("failed to get running VMs: vm source not configured".to_owned()));

    let mut host = testing::hypervisor("node-9", "64Gi", "16");
    host.metadata.labels = Some([("topology.kubernetes.io/zone".to_owned(), ZONE.to_owned())].into());
    let instances = json!([{ "id": "vm-1", "name": "vm-1", "active": true }]);
    host.status.get_or_insert_default().instances = serde_json::from_value(instances).unwrap();
    let with_vms = CapacityReports {
        hypervisors: filled(HYPERVISOR_INDEXES, &ClusterName::home(), [host]),
        vms: vms(vec![row("vm-1"), row("vm-2")]),
        ..without_vms
    };
    let units = 32; // The VMs have the largest flavor.
    let usage = per_zone(&ask(&with_vms, &[ZONE]).unwrap(), "ram")[ZONE]["usage"].as_u64();
    assert_eq!(usage, Some(units), "no host lists the other VM");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reported_while_a_source_is_missing() {
    let fails = |reports: &CapacityReports| ask(reports, &[ZONE]).unwrap_err();
    let without_groups = CapacityReports { groups: source(&knowledges([])).groups, ..reports(Vec::new()) };
    assert!(fails(&without_groups).starts_with("failed to get flavor groups: failed to get flavor groups knowledge: "));

    let unread = CapacityReports { capacities: Store::new(CAPACITY_INDEXES), ..reports(Vec::new()) };
    let text = fails(&unread);
    assert!(
        text.starts_with("failed to list FlavorGroupCapacity CRDs: ") && text.contains("it is not watched"),
        "{text}"
    );

    let name = names::flavor_group_capacity(GROUP, ZONE);
    let odd = reports(vec![object(GROUP, ZONE, &json!({"exclusivelyFreeSlots": -1}))]);
    let expected = format!(
        "failed to read FlavorGroupCapacity {name}: status.exclusivelyFreeSlots is \"-1\", it must be a number, 0 or more"
    );
    assert_eq!(fails(&odd), expected);
}

#[tokio::test(start_paused = true)]
async fn only_an_unreadable_object_of_an_asked_zone_stops_the_report() {
    let with = |zone: Value| {
        let reports = reports_of_one_object();
        let raw = json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "FlavorGroupCapacity", "metadata": {"name": "odd"},
            "spec": {"flavorGroup": GROUP, "availabilityZone": zone}, "status": {"flavors": 7},
        });
        applied_raw(&reports.capacities, &ClusterName::home(), raw).unwrap();
        ask(&reports, &[ZONE])
    };
    assert!(with(json!("eu-x-1b")).is_ok());
    for concerned in [json!(ZONE), Value::Null] {
        let error = with(concerned).unwrap_err();
        assert!(error.contains("FlavorGroupCapacity odd cannot be read"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_clusters_of_asked_zones_must_be_known() {
    let remote = json!({
        "host": "https://r1", "labels": {"availabilityZone": "eu-x-1b"}, "gvks": ["cortex.cloud/v1alpha1/FlavorGroupCapacity"],
    });
    let values = json!({"apiservers": {"remotes": [remote]}});
    let servers = decode(values.as_object().unwrap(), true).unwrap().configuration.api_servers;
    let remote = ClusterName::from("eu-x-1b");
    let capacities = filled(CAPACITY_INDEXES, &remote, [object(GROUP, "eu-x-1b", &capacity())]);
    let two_clusters = CapacityReports { routes: Routes::new(&servers), capacities, ..reports(Vec::new()) };
    let report = ask(&two_clusters, &["eu-x-1b", ZONE]).unwrap();
    assert_eq!(
        per_zone(&report, "instances"),
        json!({"eu-x-1a": {"capacity": 0}, "eu-x-1b": {"capacity": 13, "usage": 10}})
    );
    let unread = CapacityReports { capacities: Store::new(CAPACITY_INDEXES), ..two_clusters };
    assert!(ask(&unread, &[ZONE]).is_ok(), "no cluster has objects of this zone");
    assert!(ask(&unread, &["eu-x-1b"]).unwrap_err().contains("it is not watched"));
}

#[tokio::test(start_paused = true)]
async fn the_lines_for_the_metrics_are_those_of_the_report() {
    let made = made(&reports_of_one_object(), &[ZONE, "nowhere"]).unwrap();
    let line = |zone: &str, capacity| CapacityLine {
        resource: format!("hw_version_{GROUP}_ram"),
        zone: zone.into(),
        capacity,
    };
    for expected in [line(ZONE, 104), line("nowhere", 0)] {
        assert!(made.lines.contains(&expected), "{expected:?}");
    }
    assert_eq!(made.known_zones, [ZONE.into()].into());
}
