//! One process with the usage controller over the double of the API server, and a table of VMs in memory. Commitments are
//! accepted by hand; runs happen when a test says so, or when a timer of the controller is due.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod expected;
#[path = "../../../liquid/tests/matrix/test_clock.rs"]
pub mod test_clock;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::opened;
use berth_cluster::{FlavorGroupsCache, Routes};
use berth_core::HostName;
use berth_core::flavor::Flavor;
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommittedResource, CommittedResourceStatus, Hypervisor, names, testing};
use berth_projects::ProjectSources;
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Driver, Server, World, seeds};
use berth_usage::{Context, Settings, UsageController, UsageMetrics};
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use test_clock::TestClock;

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3600);
/// After which a run happens without a cause.
pub const PERIOD: Duration = Duration::from_secs(300);
/// Hosts in the two zones.
pub const NODE1: &str = "node1";
pub const NODE2: &str = "node2";

/// What lives longer than a process. Clones share it.
#[derive(Clone)]
pub struct Stage {
    pub server: Server,
    pub clock: TestClock,
    rows: Arc<Mutex<BTreeMap<String, VmRow>>>,
    /// How old the table is.
    pub age: SignedDuration,
}

impl Stage {
    /// Flavors of 480 and 240 GiB, an empty host in each zone, and no commitments.
    pub fn new() -> Self {
        let clock = TestClock::default();
        let server = Server::new(Arc::new(clock.clone()));
        server.create(&seeds::flavor_groups_with_half(clock.now())).unwrap();
        server.create(&seeds::host(NODE1, 100)).unwrap();
        server.create(&seeds::in_zone(seeds::host(NODE2, 100), seeds::OTHER_ZONE)).unwrap();
        Self { server, clock, rows: Arc::default(), age: SignedDuration::ZERO }
    }

    pub fn commitment(&self, uuid: &str) -> CommittedResource {
        self.server.get(&names::commitment(uuid)).unwrap()
    }

    pub fn status(&self, uuid: &str) -> CommittedResourceStatus {
        self.commitment(uuid).status.unwrap_or_default()
    }

    /// The commitment is there, and accepted.
    pub fn commit(&self, object: &CommittedResource) {
        self.server.create(object).unwrap();
        self.accept(&object.spec.commitment_uuid);
    }

    /// So many slots of 480 GiB are committed and accepted.
    pub fn commit_slots(&self, uuid: &str, slots: u64) {
        self.commit(&testing::commitment(uuid, &seeds::slots(slots)));
    }

    /// The spec is accepted as it is now.
    pub fn accept(&self, uuid: &str) {
        let object = self.commitment(uuid);
        let ready = ready_condition(Status::True, "Accepted", "", object.metadata.generation, self.clock.now());
        // A merge patch keeps members that are absent, so the former spec is removed first.
        self.edit_status(uuid, &json!({ "acceptedSpec": null }));
        self.edit_status(uuid, &json!({ "acceptedSpec": object.spec, "conditions": [ready] }));
    }

    /// Its controller has found that it has ended.
    pub fn release(&self, uuid: &str) {
        let object = self.commitment(uuid);
        let reason = object.spec.state.as_str();
        let ready = ready_condition(Status::False, reason, "", object.metadata.generation, self.clock.now());
        self.edit_status(uuid, &json!({ "conditions": [ready] }));
    }

    pub fn edit_status(&self, uuid: &str, status: &Value) {
        let patch = json!({ "status": status });
        self.server.edit_status::<CommittedResource>(&names::commitment(uuid), &patch).unwrap();
    }

    pub fn edit_spec(&self, uuid: &str, spec: &Value) {
        self.server.edit::<CommittedResource>(&names::commitment(uuid), &json!({ "spec": spec })).unwrap();
    }

    /// The table has the VM, created so many minutes after the start of all.
    pub fn insert_row(&self, vm: &str, flavor: &str, host: &str, minute: i64) {
        let created = "2026-02-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minute);
        let row = VmRow {
            id: vm.into(),
            name: vm.into(),
            project: testing::PROJECT.into(),
            status: "ACTIVE".into(),
            created: Some(created),
            zone: testing::ZONE.into(),
            host: HostName::from(host),
            flavor: flavor.into(),
            os_type: "unknown".into(),
        };
        self.rows.lock().insert(vm.to_owned(), row);
    }

    pub fn edit_row(&self, vm: &str, edit: impl FnOnce(&mut VmRow)) {
        edit(self.rows.lock().get_mut(vm).unwrap());
    }

    pub fn remove_row(&self, vm: &str) {
        self.rows.lock().remove(vm);
    }

    /// The VMs that run on a host.
    pub fn run_on(&self, host: &str, vms: &[&str]) {
        let instances: Vec<Value> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": true })).collect();
        let patch = json!({ "status": { "instances": instances } });
        self.server.edit_status::<Hypervisor>(host, &patch).unwrap();
    }

    /// A VM in the table and on `node1`, alone.
    pub fn start_vm(&self, vm: &str, flavor: &str, minute: i64) {
        self.insert_row(vm, flavor, NODE1, minute);
        self.run_on(NODE1, &[vm]);
    }

    /// What a read of the table finds now.
    pub fn snapshot(&self) -> VmSnapshot {
        let flavor = |name: &str, vcpus, memory_gib: u64| Flavor {
            name: name.into(),
            vcpus,
            memory_mib: memory_gib * 1024,
            disk_gib: 0,
            extra_specs: BTreeMap::new(),
        };
        let flavors = vec![flavor(testing::FLAVOR, 30, 480), flavor(seeds::HALF_FLAVOR, 15, 240), flavor("tiny", 1, 1)];
        VmSnapshot::new(self.rows.lock().values().cloned().collect(), flavors, self.clock.now() - self.age)
    }

    /// The VMs, memory and cores that the commitment shows.
    pub fn usage(&self, uuid: &str) -> (Vec<String>, String, String) {
        let status = self.status(uuid);
        let amount = |key: &str| status.used_resources.get(key).map_or("none", |amount| amount.as_str()).to_owned();
        (status.assigned_instances.clone(), amount("memory"), amount("cpu"))
    }

    pub fn vms(&self, uuid: &str) -> Vec<String> {
        self.usage(uuid).0
    }

    /// The writes of the controller since the last call.
    pub fn take_writes(&self) -> Vec<String> {
        self.server.take_log()
    }
}

/// One process.
pub struct Process {
    pub stage: Stage,
    pub world: World,
    pub vms: VmSource,
    pub metrics: Metrics,
    pub driver: Driver<UsageController>,
}

impl Process {
    /// It has read the table once.
    pub fn start(stage: &Stage, seed: u64) -> Self {
        let process = Self::start_without_vms(stage, seed);
        process.publish();
        process
    }

    pub fn start_without_vms(stage: &Stage, seed: u64) -> Self {
        let (world, metrics, requests) = (World::new(&stage.server), Metrics::new(&[].into()).unwrap(), opened());
        let clock: Arc<dyn Clock> = Arc::new(stage.clock.clone());
        let vms = VmSource::new(clock.clone(), HOUR);
        let controller = UsageController::new(Context {
            commitments: world.writer(&world.stores.commitments),
            sources: ProjectSources::new(
                &world.stores,
                FlavorGroupsCache::new(world.stores.knowledges.clone()),
                vms.clone(),
                Routes::home_only(),
            ),
            clock,
            metrics: UsageMetrics::register(&metrics).unwrap(),
            requests: requests.clone(),
            settings: Settings { period: PERIOD },
        });
        let driver = Driver::start(&world, controller, requests).unwrap().in_random_order(seed);
        Self { stage: stage.clone(), world, vms, metrics, driver }
    }

    /// The table is read.
    pub fn publish(&self) {
        self.vms.publish(self.stage.snapshot());
    }
}

pub fn with_project(mut object: CommittedResource, project: &str) -> CommittedResource {
    project.clone_into(&mut object.spec.project_id);
    object
}

pub fn with_zone(mut object: CommittedResource, zone: &str) -> CommittedResource {
    zone.clone_into(&mut object.spec.availability_zone);
    object
}
