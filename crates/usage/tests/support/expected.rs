//! What the objects must show at rest: computed plainly from the objects and the table.

use std::sync::Arc;

use berth_core::{ClusterName, Quantity};
use berth_crds::{CommittedResource, Hypervisor, ResourceType, labels};
use berth_invariants::testing::{UsageFacts, VmSize, broken_usage};
use berth_invariants::{Invariant, Snapshot, at_rest};
use berth_telemetry::clock::Clock as _;
use berth_testkit::{PlainCommitment, PlainVm, assign_plainly};
use berth_vm_source::Vm;
use kube::ResourceExt as _;

use super::Stage;

impl Stage {
    /// The violations of the invariants about usage.
    pub fn violations(&self) -> Vec<String> {
        let objects: Vec<CommittedResource> = self.server.all().unwrap();
        let commitments = objects.iter().map(|object| (ClusterName::home(), Arc::new(object.clone())));
        let snapshot = Snapshot::of(commitments, [], []);
        let twice = at_rest(&snapshot).into_iter().filter(|one| one.invariant == Invariant::VmInTwoCommitments);
        let all = twice.chain(broken_usage(&snapshot, &self.facts(&objects)));
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
    let group = vm.flavor.name.as_str().starts_with(berth_crds::testing::GROUP);
    group.then(|| PlainVm {
        id: vm.id.to_string(),
        created: vm.created,
        memory_mib: vm.flavor.memory_mib,
        cpu: vm.flavor.vcpus.into(),
        zone: zone.cloned().unwrap_or_else(|| vm.zone.to_string()),
        group: berth_crds::testing::GROUP.to_owned(),
    })
}
