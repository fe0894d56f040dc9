//! Row t: the usage report of a project with many VMs beside the serialization of the same JSON, in this process on one core.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_cluster::indexes::{COMMITMENT_INDEXES, HYPERVISOR_INDEXES, QUOTA_INDEXES};
use berth_cluster::testing::filled;
use berth_cluster::{FlavorGroupsCache, Store};
use berth_core::ClusterName;
use berth_core::flavor::{Flavor, FlavorGroups};
use berth_core::liquid::info::{ServiceInfo, build_resources};
use berth_core::liquid::resources::ResourceConfig;
use berth_core::liquid::usage::UsageRequest;
use berth_crds::hypervisor::Instance;
use berth_crds::{CommittedResource, Hypervisor, Knowledge, testing};
use berth_liquid::usage::UsageReports;
use berth_telemetry::clock::SystemClock;
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cloud;
use crate::error::Error;
use crate::table::{Goal, Row};
use crate::times::Times;

const SMALL: u32 = 1_000;
const LARGE: u32 = 10_000;
const PER_HOST: usize = 50;
const PER_COMMITMENT: usize = 20;
const PROJECT: &str = "bench";
const WARM_UP: usize = 5;
const RUNS: usize = 51;
const TIMES_THE_JSON: f64 = 2.0;
const HOUR: Duration = Duration::from_secs(3600);

pub fn measure() -> Result<Row, Error> {
    let (small, large) = (Scene::new(SMALL as usize)?.measure()?, Scene::new(LARGE as usize)?.measure()?);
    let per_vm = |found: &Found, vms: u32| found.report.median().as_secs_f64() * 1e6 / f64::from(vms);
    let ratio = large.report.median().as_secs_f64() / large.json.median().as_secs_f64();
    let growth = per_vm(&large, LARGE) / per_vm(&small, SMALL);
    let milliseconds = large.report.median().as_secs_f64() * 1e3;
    Ok(Row {
        letter: 't',
        what: format!("the usage report of a project with {LARGE} VMs, {milliseconds:.1} ms"),
        goals: vec![
            Goal::wanted(
                format!("at most {TIMES_THE_JSON} times the serialization of the same JSON"),
                format!("{ratio:.2}"),
                ratio <= TIMES_THE_JSON,
            ),
            Goal::new(format!("shown: the time per VM, compared with {SMALL} VMs"), format!("{growth:.2} times")),
        ],
    })
}

struct Found {
    report: Times,
    json: Times,
}

struct Scene {
    reports: UsageReports,
    info: ServiceInfo,
    asked: UsageRequest,
}

impl Scene {
    fn new(vms: usize) -> Result<Self, Error> {
        let scene = |error: &dyn std::fmt::Display| Error::Scene(error.to_string());
        let groups = FlavorGroups::parse(&cloud::flavor_groups()).map_err(|error| scene(&error))?.groups;
        let flavor = groups.iter().find_map(|group| group.flavors.first().cloned());
        let flavor = flavor.ok_or_else(|| Error::Scene("no flavor".to_owned()))?;
        let resources = build_resources(&groups, &ResourceConfig::default()).map_err(|error| scene(&error))?;
        let home = ClusterName::home();
        let reports = UsageReports {
            groups: FlavorGroupsCache::new(filled(&[], &home, [knowledge().map_err(|error| scene(&error))?])),
            commitments: filled(COMMITMENT_INDEXES, &home, (0..vms / PER_COMMITMENT).map(commitment)),
            hypervisors: hosts(vms),
            quotas: filled(QUOTA_INDEXES, &home, []),
            vms: source(vms, &flavor),
        };
        let asked = UsageRequest { zones: [cloud::zone(0).into()].into() };
        Ok(Self { reports, info: ServiceInfo::new(1, resources), asked })
    }

    fn report(&self) -> Result<String, Error> {
        let report = self.reports.report(&self.info, &PROJECT.into(), &self.asked);
        report.map_err(|error| Error::Scene(error.to_string()))
    }

    fn measure(&self) -> Result<Found, Error> {
        let same: Value = serde_json::from_str(&self.report()?).map_err(|error| Error::Scene(error.to_string()))?;
        let mut found = Found { report: Times::default(), json: Times::default() };
        for run in 0..WARM_UP + RUNS {
            let began = Instant::now();
            black_box(self.report()?);
            let report = began.elapsed();
            let began = Instant::now();
            black_box(same.to_string());
            if run >= WARM_UP {
                found.report.add(report);
                found.json.add(began.elapsed());
            }
        }
        Ok(found)
    }
}

fn vm(number: usize) -> String {
    format!("11111111-2222-3333-4444-{number:012}")
}

fn commitment(number: usize) -> CommittedResource {
    let mut object = testing::commitment(&format!("bench-usage-{number}"), "480Gi");
    PROJECT.clone_into(&mut object.spec.project_id);
    let vms = (number * PER_COMMITMENT..(number + 1) * PER_COMMITMENT).map(vm);
    object.status.get_or_insert_default().assigned_instances = vms.collect();
    object
}

fn hosts(vms: usize) -> Store<Hypervisor> {
    let host = |number: usize| {
        let mut host = cloud::host_in(number, 0);
        let instances = (number * PER_HOST..(number + 1) * PER_HOST).map(|vm_number| Instance {
            id: vm(vm_number),
            name: format!("instance-{vm_number:08}"),
            active: true,
        });
        host.status.get_or_insert_default().instances = instances.collect();
        host
    };
    filled(HYPERVISOR_INDEXES, &ClusterName::home(), (0..vms / PER_HOST).map(host))
}

fn source(vms: usize, flavor: &Flavor) -> VmSource {
    let source = VmSource::new(Arc::new(SystemClock), HOUR);
    let row = |number: usize| VmRow {
        id: vm(number).into(),
        name: format!("app-{number}").into(),
        project: PROJECT.into(),
        status: "ACTIVE".into(),
        created: None,
        zone: cloud::zone(0).into(),
        host: cloud::host_name(number / PER_HOST).as_str().into(),
        flavor: flavor.name.clone(),
        os_type: "unknown".into(),
    };
    source.publish(VmSnapshot::new((0..vms).map(row).collect(), vec![flavor.clone()], Timestamp::now()));
    source
}

fn knowledge() -> serde_json::Result<Knowledge> {
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-03-01T08:00:00Z",
    });
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Knowledge",
        "metadata": { "name": "flavor-groups", "uid": "u", "resourceVersion": "1" },
        "spec": { "schedulingDomain": "nova" },
        "status": { "raw": cloud::flavor_groups(), "conditions": [ready] },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vm_is_in_the_report_and_in_a_commitment() {
        let report = Scene::new(SMALL as usize).unwrap().report().unwrap();
        assert_eq!(report.matches("\"id\":").count(), SMALL as usize);
        assert_eq!(report.matches("\"commitment_id\":\"bench-usage-").count(), SMALL as usize);
        assert!(!report.contains("unknown\":{"), "all are in the zone");
    }
}
