//! What the objects must show at rest: computed plainly from the objects and the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::FlavorGroupsCache;
use berth_core::liquid::info::{ServiceInfo, build_resources};
use berth_core::liquid::resources::ResourceConfig;
use berth_core::liquid::usage::UsageRequest;
use berth_core::{ClusterName, Quantity};
use berth_crds::{CommittedResource, Hypervisor, ResourceType, labels, testing};
use berth_invariants::testing::{ReportedVm, UsageFacts, VmSize, broken_usage};
use berth_invariants::{Invariant, Snapshot, at_rest};
use berth_liquid::usage::UsageReports;
use berth_telemetry::clock::Clock as _;
use berth_testkit::{PlainCommitment, PlainVm, assign_plainly, seeds};
use berth_vm_source::Vm;
use kube::ResourceExt as _;
use serde_json::Value;

use super::{Process, Stage};

impl Process {
    /// The violations of the invariants about usage, that of the usage reports included.
    pub fn violations(&self) -> Vec<String> {
        self.stage.broken(Some(self.reported()))
    }

    /// The VMs in the usage reports of all projects.
    fn reported(&self) -> BTreeMap<String, ReportedVm> {
        let stores = &self.world.stores;
        let reports = UsageReports {
            groups: FlavorGroupsCache::new(stores.knowledges.clone()),
            commitments: stores.commitments.clone(),
            hypervisors: stores.hypervisors.clone(),
            quotas: stores.quotas.clone(),
            vms: self.vms.clone(),
        };
        let groups = reports.groups.get().unwrap().groups;
        let info = ServiceInfo::new(1, build_resources(&groups, &ResourceConfig::default()).unwrap());
        let asked = UsageRequest { zones: [testing::ZONE, seeds::OTHER_ZONE].map(Into::into).into() };
        let table = self.vms.snapshot().unwrap();
        let report = |project| serde_json::from_str::<Value>(&reports.report(&info, project, &asked).unwrap()).unwrap();
        table.projects().flat_map(|project| vms_of(&report(project))).collect()
    }
}

/// The VMs in the resources of instances.
fn vms_of(report: &Value) -> Vec<(String, ReportedVm)> {
    let resources = report["resources"].as_object().into_iter().flatten();
    let instances = resources.filter(|(name, _)| name.ends_with("_instances"));
    let zones = instances.flat_map(|(_, resource)| resource["perAZ"].as_object().into_iter().flatten());
    let vms = zones.flat_map(|(_, zone)| zone["subresources"].as_array().into_iter().flatten());
    let vm = |vm: &Value| {
        let commitment = vm["attributes"]["commitment_id"].as_str().map(str::to_owned);
        let memory_mib = vm["attributes"]["flavor"]["ram_mib"].as_u64().unwrap();
        (vm["id"].as_str().unwrap().to_owned(), ReportedVm { commitment, memory_mib })
    };
    vms.map(vm).collect()
}

impl Stage {
    /// The violations of the invariants about usage.
    pub fn violations(&self) -> Vec<String> {
        self.broken(None)
    }

    fn broken(&self, reported: Option<BTreeMap<String, ReportedVm>>) -> Vec<String> {
        let objects: Vec<CommittedResource> = self.server.all().unwrap();
        let commitments = objects.iter().map(|object| (ClusterName::home(), Arc::new(object.clone())));
        let snapshot = Snapshot::of(commitments, [], []);
        let twice = at_rest(&snapshot).into_iter().filter(|one| one.invariant == Invariant::VmInTwoCommitments);
        let facts = UsageFacts { reported, ..self.facts(&objects) };
        let all = twice.chain(broken_usage(&snapshot, &facts));
        all.map(|violation| violation.to_string()).collect()
    }

    fn facts(&self, objects: &[CommittedResource]) -> UsageFacts {
        let (table, hosts) = (self.snapshot(), self.server.all::<Hypervisor>().unwrap());
        let mut facts = UsageFacts { now: self.clock.now(), ..UsageFacts::default() };
        for project in table.projects().cloned().chain(objects.iter().map(|one| one.spec.project_id.as_str().into())) {
            let own = objects.iter().filter(|object| object.spec.project_id == project.as_str());
            let own: Vec<PlainCommitment> = own.filter_map(|object| self.active(object)).collect();
            let vms: Vec<PlainVm> = table.of_project(&project).iter().filter_map(|vm| plain_vm(vm, &hosts)).collect();
            facts.expected.extend(assign_plainly(&own, &vms));
        }
        for vm in table.vms() {
            let size = VmSize { memory_mib: vm.flavor.memory_mib, cpu: vm.flavor.vcpus.into() };
            facts.vms.insert(vm.id.to_string(), size);
        }
        facts
    }

    fn active(&self, object: &CommittedResource) -> Option<PlainCommitment> {
        let (now, status) = (self.clock.now(), object.status.as_ref()?);
        let accepted = status.accepted_spec.as_ref()?;
        let has_ended = status.conditions.iter().any(|ready| ready.status == "False");
        let has_started = accepted.start_time.as_ref().is_none_or(|start| start.0 <= now);
        let ends = [&accepted.end_time, &object.spec.end_time];
        let lasts = ends.into_iter().flatten().all(|end| end.0 >= now);
        if !accepted.state.is_active() || has_ended || !has_started || !lasts {
            return None;
        }
        let amount = u64::try_from(Quantity::parse(accepted.amount.as_str()).unwrap().round_down()).unwrap();
        let is_of_cores = accepted.resource_type == ResourceType::Cores;
        Some(PlainCommitment {
            uuid: object.spec.commitment_uuid.clone(),
            is_of_cores,
            amount: if is_of_cores { amount } else { amount >> 20 },
            start: accepted.start_time.as_ref().map(|start| start.0),
            zone: accepted.availability_zone.clone(),
            group: accepted.flavor_group_name.clone(),
        })
    }
}

/// Without those whose flavor is in no group.
fn plain_vm(vm: &Vm, hosts: &[Hypervisor]) -> Option<PlainVm> {
    let listing = |host: &&Hypervisor| {
        host.status.iter().flat_map(|status| &status.instances).any(|instance| instance.id == vm.id.as_str())
    };
    let zone = hosts.iter().find(listing).and_then(|host| host.labels().get(labels::ZONE));
    let group = vm.flavor.name.as_str().starts_with(testing::GROUP);
    group.then(|| PlainVm {
        id: vm.id.to_string(),
        created: vm.created,
        memory_mib: vm.flavor.memory_mib,
        cpu: vm.flavor.vcpus.into(),
        zone: zone.cloned().unwrap_or_else(|| vm.zone.to_string()),
        group: testing::GROUP.to_owned(),
    })
}
