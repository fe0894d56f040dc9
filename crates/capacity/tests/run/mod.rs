//! One process with the capacity controller, and the world around it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use berth_capacity::{CapacityController, CapacityMetrics, Context, Settings};
use berth_cluster::testing::{failing, opened};
use berth_cluster::{FlavorGroupsCache, Routes, Stores, Writer};
use berth_core::flavor::Flavor;
use berth_core::liquid::info::{ServiceInfo, build_resources};
use berth_core::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use berth_core::liquid::units::RamUnit;
use berth_core::liquid::usage::UsageRequest;
use berth_core::{ClusterName, ProjectId, Zone};
use berth_crds::facts::place_capacity;
use berth_crds::{
    CommittedResource, FlavorGroupCapacity, FlavorGroupCapacityStatus, Hypervisor, Knowledge, Reservation, conditions,
    names, testing,
};
use berth_invariants::testing::{CapacityFacts, ReportedUsage, broken_capacity};
use berth_invariants::{Key, Snapshot};
use berth_liquid::usage::UsageReports;
use berth_scheduler::{BuiltIn, Pipelines};
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::scenarios::{Disturbance, ScenarioRun};
use berth_testkit::{Driver, Server, World, seeds};
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use serde_json::{Value, json};
use tokio::time::Instant;

mod two_clusters;

pub use two_clusters::{TwoClusters, free_slots};

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3600);
const INTERVAL: Duration = Duration::from_secs(300);
const LEAST: Duration = Duration::from_secs(30);
const MAX_AGE: Duration = Duration::from_secs(900);
/// Ten slots in the zone of the tests.
pub const NODE1: &str = "node1";
/// Four slots in the other zone.
pub const NODE2: &str = "node2";
/// A group whose flavors are half as large, on the same hosts.
pub const OTHER_GROUP: &str = "half";

pub struct Process {
    pub world: World,
    pub vms: VmSource,
    metrics: Metrics,
    driver: Driver<CapacityController<BuiltIn>>,
}

pub struct Run {
    pub server: Server,
    clock: Arc<dyn Clock>,
    pub rows: BTreeMap<String, VmRow>,
    pub process: Process,
    unit: Arc<AtomicU64>,
    disturbance: Disturbance,
    pub is_table_away: bool,
    /// What processes cannot read, and whether their scheduler answers.
    away: Away,
    answers_probes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    Nothing,
    Hosts,
    Reservations,
}

/// The flavor group of `docs/numbers.md`.
pub fn gp_features() -> Value {
    let specs = json!({ "capabilities:hypervisor_type": "QEMU" });
    let flavor = |name: &str, vcpus: u32, mib: u32| json!({ "name": name, "vcpus": vcpus, "memoryMB": mib, "extraSpecs": specs });
    let flavors = [flavor("gp_c8_m32", 8, 32752), flavor("gp_c4_m16", 4, 16368), flavor("gp_c2_m8", 2, 8176)];
    json!({ "features": [{ "name": "gp_v1", "flavors": flavors, "smallestFlavor": flavors[2],
                           "ramCoreRatioMin": 4088, "ramCoreRatioMax": 4094 }] })
}

impl Process {
    fn start(server: &Server, clock: &Arc<dyn Clock>, unit: &Arc<AtomicU64>) -> Self {
        let (world, metrics) = (World::new(server), Metrics::new(&[].into()).unwrap());
        let vms = VmSource::new(clock.clone(), HOUR);
        let capacities = world.writer(&world.stores.capacities);
        let parts = (&world.stores, capacities, world.scheduler.clone(), Routes::home_only());
        let controller = CapacityController::new(context(parts, (&vms, unit), clock, &metrics));
        let driver = Driver::start(&world, controller, opened()).unwrap();
        Self { world, vms, metrics, driver }
    }
}

type Parts<'a> = (&'a Stores, Writer<FlavorGroupCapacity>, Arc<BuiltIn>, Routes);

fn context(
    (stores, capacities, scheduler, routes): Parts<'_>,
    (vms, unit): (&VmSource, &Arc<AtomicU64>),
    clock: &Arc<dyn Clock>,
    metrics: &Metrics,
) -> Context<BuiltIn> {
    let (pipeline, unit) = ("kvm-general-purpose-load-balancing".to_owned(), unit.clone());
    Context {
        commitments: stores.commitments.clone(),
        hypervisors: stores.hypervisors.clone(),
        reservations: stores.reservations.clone(),
        pipelines: stores.pipelines.clone(),
        flavor_groups: FlavorGroupsCache::new(stores.knowledges.clone()),
        vms: vms.clone(),
        routes,
        scheduler,
        unit_of: Arc::new(move |_| RamUnit::new(unit.load(Ordering::Relaxed)).unwrap()),
        clock: clock.clone(),
        ids: FreshIds::counted(),
        metrics: CapacityMetrics::register(metrics, &stores.capacities, (clock.clone(), MAX_AGE)).unwrap(),
        settings: Settings {
            interval: INTERVAL,
            least_interval: LEAST,
            total_pipeline: pipeline.clone(),
            placeable_pipeline: pipeline,
        },
        capacities,
    }
}

impl ScenarioRun for Run {
    fn begin(disturbance: Disturbance) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let server = Server::new(clock.clone());
        server.create(&seeds::flavor_groups(clock.now())).unwrap();
        server.create(&seeds::host(NODE1, 10)).unwrap();
        server.create(&seeds::in_zone(seeds::host(NODE2, 4), seeds::OTHER_ZONE)).unwrap();
        let unit = Arc::new(AtomicU64::new(240));
        let process = Process::start(&server, &clock, &unit);
        let rows = BTreeMap::new();
        let run = Self {
            server,
            clock,
            rows,
            process,
            unit,
            disturbance,
            is_table_away: false,
            away: Away::Nothing,
            answers_probes: true,
        };
        run.publish();
        run
    }

    fn server(&self) -> &Server {
        &self.server
    }

    /// Another cycle changes nothing but the time.
    async fn finish(&mut self) {
        self.server.heal();
        self.wait(6 * MINUTE).await;
        let before = self.timeless();
        self.wait(6 * MINUTE).await;
        assert_eq!(self.timeless(), before);
        assert_eq!(self.server.no_op_writes(), 0);
        self.assert_invariants();
    }
}

impl Run {
    pub fn calm() -> Self {
        Self::begin(Disturbance::Calm)
    }

    /// The host, the slot, the commitment and the VMs of `docs/numbers.md`.
    pub fn documented() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let server = Server::new(clock.clone());
        let mut groups = seeds::flavor_groups(clock.now());
        groups.status.as_mut().unwrap().raw = Some(gp_features());
        server.create(&groups).unwrap();
        let mut host = seeds::host(NODE1, 1);
        let status = host.status.as_mut().unwrap();
        (status.capacity, status.effective_capacity) = (testing::size("128Gi", "32"), testing::size("128Gi", "32"));
        server.create(&host).unwrap();
        let mut commitment = testing::commitment("uuid-1", "32Gi");
        "gp_v1".clone_into(&mut commitment.spec.flavor_group_name);
        server.create(&commitment).unwrap();
        let accepted = json!({ "status": { "acceptedSpec": commitment.spec } });
        server.edit_status::<CommittedResource>(&names::commitment("uuid-1"), &accepted).unwrap();
        let unit = Arc::new(AtomicU64::new(1));
        let process = Process::start(&server, &clock, &unit);
        let mut run = Self {
            server,
            clock,
            rows: BTreeMap::new(),
            process,
            unit,
            disturbance: Disturbance::Calm,
            is_table_away: false,
            away: Away::Nothing,
            answers_probes: true,
        };
        run.start_vm("a", "gp_c4_m16");
        run.start_vm("b", "gp_c2_m8");
        let instances = ["a", "b"].map(|vm| json!({ "id": vm, "name": vm, "active": true }));
        let allocation = json!({ "memory": "24544Mi", "cpu": "6" });
        let status = json!({ "status": { "instances": instances, "allocation": allocation } });
        run.server.edit_status::<Hypervisor>(NODE1, &status).unwrap();
        let mut slot = testing::slot("uuid-1", 0);
        (slot.spec.target_host, slot.spec.resources) = (Some(NODE1.to_owned()), testing::size("32752Mi", "8"));
        let of_commitment = slot.spec.committed_resource_reservation.as_mut().unwrap();
        of_commitment.resource_group = Some("gp_v1".to_owned());
        run.server.create(&slot).unwrap();
        let name = seeds::slot_name("uuid-1", 0);
        run.server.edit_status::<Reservation>(&name, &json!({ "status": { "host": NODE1 } })).unwrap();
        run.put_into_slot("a", NODE1, ("16368Mi", "4"));
        run.publish();
        run
    }

    pub fn disturb(&self) {
        self.disturbance.begin(&self.server);
    }

    pub async fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        let work = self.process.driver.wait_until(end);
        if self.disturbance.interrupt(&self.server, work).await.is_none() {
            self.process = Process::start(&self.server, &self.clock, &self.unit);
            self.set_away(self.away);
            self.answer_probes(self.answers_probes);
            self.publish();
            self.process.driver.wait_until(end.max(Instant::now())).await;
        }
    }

    /// What follows from an event is written after the least interval, unless writes fail.
    pub async fn settle(&mut self) {
        let cycles = if self.disturbance.has_faults() { 20 } else { 2 };
        self.wait(LEAST * cycles + Duration::from_secs(1)).await;
    }

    /// The table is read, if it can be.
    pub fn publish(&self) {
        if self.is_table_away {
            self.process.vms.report_failure("connection refused");
            return;
        }
        self.process.vms.set_configured(true);
        let flavor = |name: &str, vcpus, memory_mib: u64| Flavor {
            name: name.into(),
            vcpus,
            memory_mib,
            disk_gib: 0,
            extra_specs: BTreeMap::new(),
        };
        let flavors =
            vec![flavor(testing::FLAVOR, 30, 480 * 1024), flavor("gp_c4_m16", 4, 16368), flavor("gp_c2_m8", 2, 8176)];
        self.process.vms.publish(VmSnapshot::new(self.rows.values().cloned().collect(), flavors, self.clock.now()));
    }

    pub fn start_vm(&mut self, vm: &str, flavor: &str) {
        let row = VmRow {
            id: vm.into(),
            project: testing::PROJECT.into(),
            zone: testing::ZONE.into(),
            host: NODE1.into(),
            flavor: flavor.into(),
            ..VmRow::default()
        };
        self.rows.insert(vm.to_owned(), row);
    }

    /// The host lists these VMs, which take so many slots.
    pub fn run_on(&self, host: &str, vms: &[&str], slots: u64) {
        let instances: Vec<_> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": true })).collect();
        let allocation = json!({ "memory": seeds::slots(slots), "cpu": (slots * seeds::SLOT_CORES).to_string() });
        let status = json!({ "status": { "instances": instances, "allocation": allocation } });
        self.server.edit_status::<Hypervisor>(host, &status).unwrap();
    }

    pub fn hold_slot(&self, host: &str) {
        let mut slot = testing::slot("uuid-1", 0);
        slot.spec.target_host = Some(host.to_owned());
        let name = slot.metadata.name.clone().unwrap();
        self.server.create(&slot).unwrap();
        self.server.edit_status::<Reservation>(&name, &json!({ "status": { "host": host } })).unwrap();
    }

    pub fn put_into_slot(&self, vm: &str, host: &str, (memory, cpu): (&str, &str)) {
        let name = seeds::slot_name("uuid-1", 0);
        let allocation = json!({ "creationTimestamp": "2026-03-01T12:00:00Z",
            "resources": { "memory": memory, "cpu": cpu } });
        let spec = json!({ "spec": { "committedResourceReservation": { "allocations": { vm: allocation } } } });
        self.server.edit::<Reservation>(&name, &spec).unwrap();
        let status = json!({ "status": { "committedResourceReservation": { "allocations": { vm: host } } } });
        self.server.edit_status::<Reservation>(&name, &status).unwrap();
    }

    /// With or without the group that shares the hosts.
    pub fn set_groups(&self, has_other: bool) {
        let mut features = seeds::group(&[1]);
        if has_other {
            let mut other = seeds::group(&[2])[0].clone();
            other["name"] = OTHER_GROUP.into();
            features.as_array_mut().unwrap().push(other);
        }
        let raw = json!({ "status": { "raw": { "features": features } } });
        self.server.edit_status::<Knowledge>(names::FLAVOR_GROUPS, &raw).unwrap();
    }

    pub fn answer_probes(&mut self, answers: bool) {
        self.answers_probes = answers;
        let pipelines = if answers { Pipelines::shipped() } else { Pipelines::default() };
        self.process.world.scheduler.set_pipelines(pipelines);
    }

    pub fn set_away(&mut self, away: Away) {
        self.away = away;
        let (stores, home) = (&self.process.world.stores, ClusterName::home());
        let why = |of| (away == of).then_some("no route to host");
        failing(&stores.hypervisors, &home, why(Away::Hosts));
        failing(&stores.reservations, &home, why(Away::Reservations));
    }

    pub fn set_unit(&self, gib: u64) {
        self.unit.store(gib, Ordering::Relaxed);
    }

    pub fn capacity(&self, group: &str, zone: &str) -> Option<FlavorGroupCapacity> {
        self.server.get(&names::flavor_group_capacity(group, zone)).ok()
    }

    pub fn delete_capacity(&self, zone: &str) {
        self.server.delete::<FlavorGroupCapacity>(&names::flavor_group_capacity(testing::GROUP, zone)).unwrap();
    }

    pub fn edit_capacity(&self, zone: &str, patch: &Value) {
        let name = names::flavor_group_capacity(testing::GROUP, zone);
        self.server.edit_status::<FlavorGroupCapacity>(&name, patch).unwrap();
    }

    pub fn status(&self, zone: &str) -> FlavorGroupCapacityStatus {
        self.capacity(testing::GROUP, zone).unwrap().status.unwrap()
    }

    /// Whether the object is ready, and the message.
    pub fn condition(&self, zone: &str) -> (bool, String) {
        let status = self.status(zone);
        let ready = conditions::ready(&status.conditions).unwrap();
        (conditions::is_ready(&status.conditions), ready.message.clone())
    }

    /// Instances that run, are reserved, and are free.
    pub fn assert_parts(&self, zone: &str, expected: [i64; 3]) {
        let status = self.status(zone);
        let parts = [status.running_instances, status.reserved_instances, status.exclusively_free_slots];
        assert_eq!(parts.map(Option::unwrap_or_default), expected, "{zone}: {status:?}");
    }

    /// All three parts together, in instances, cores and memory, are so many slots.
    pub fn assert_sums(&self, zone: &str, slots: u64) {
        let found = place_capacity(&self.capacity(testing::GROUP, zone).unwrap()).unwrap();
        let size = found.running.resources + found.reserved.resources + found.free;
        let cores = i64::try_from(slots * seeds::SLOT_CORES).unwrap();
        assert_eq!((size.memory.mib_down(), size.cpu.get()), (i64::try_from(slots * 480 * 1024).unwrap(), cores));
        assert_eq!(found.running.instances + found.reserved.instances + found.free_slots, slots);
        assert_eq!(found.running.units + found.reserved.units, 2 * (slots - found.free_slots));
    }

    pub fn metrics(&self) -> String {
        self.process.metrics.render()
    }

    pub fn cycles(&self) -> u64 {
        let page = self.metrics();
        let line = page.lines().find(|line| line.starts_with(r#"berth_capacity_cycles_total{result="success"}"#));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap()
    }

    /// All objects without the time of the cycle.
    fn timeless(&self) -> Vec<Value> {
        let all: Vec<FlavorGroupCapacity> = self.server.all().unwrap();
        let mut all: Vec<Value> = all.iter().map(|object| serde_json::to_value(object).unwrap()).collect();
        for object in &mut all {
            object["metadata"] = object["metadata"]["name"].clone();
            object["status"].as_object_mut().unwrap().remove("lastReconcileAt");
            for condition in object["status"]["conditions"].as_array_mut().unwrap() {
                // The age of the table is in it.
                condition.as_object_mut().unwrap().remove("message");
            }
        }
        all
    }

    fn assert_invariants(&self) {
        let (home, server) = (ClusterName::home(), &self.server);
        let hosts = server.all::<Hypervisor>().unwrap().into_iter().map(|host| (home.clone(), Arc::new(host)));
        let mut snapshot = Snapshot::of([], [], hosts);
        for object in server.all::<FlavorGroupCapacity>().unwrap() {
            let key = Key::new(home.clone(), object.metadata.name.clone().unwrap());
            snapshot.capacity(&key, Some(&Arc::new(object)));
        }
        let reported = (!self.is_table_away).then(|| self.reported());
        let facts = CapacityFacts { now: self.clock.now(), max_age: MAX_AGE, reported };
        assert_eq!(broken_capacity(&snapshot, &facts), []);
    }

    /// The sums of the usage reports of all projects.
    fn reported(&self) -> BTreeMap<(String, String), ReportedUsage> {
        let stores = &self.process.world.stores;
        let groups = FlavorGroupsCache::new(stores.knowledges.clone());
        let resources = build_resources(&groups.get().unwrap().groups, &self.resource_config()).unwrap();
        let reports = UsageReports {
            groups,
            commitments: stores.commitments.clone(),
            hypervisors: stores.hypervisors.clone(),
            quotas: stores.quotas.clone(),
            vms: self.process.vms.clone(),
        };
        let zones = [testing::ZONE, seeds::OTHER_ZONE];
        let asked = UsageRequest { zones: zones.iter().map(|zone| Zone::from(*zone)).collect() };
        let report = reports.report(&ServiceInfo::new(1, resources), &ProjectId::from(testing::PROJECT), &asked);
        let report: Value = serde_json::from_str(&report.unwrap()).unwrap();
        let usage = |kind: &str, zone: &str| {
            let resource = format!("hw_version_{}_{kind}", testing::GROUP);
            report["resources"][resource]["perAZ"][zone]["usage"].as_i64().unwrap_or(0)
        };
        let of_zone = |zone: &str| ReportedUsage {
            instances: usage("instances", zone),
            cores: usage("cores", zone),
            units: usage("ram", zone),
        };
        zones.iter().map(|zone| ((testing::GROUP.to_owned(), (*zone).to_owned()), of_zone(zone))).collect()
    }

    fn resource_config(&self) -> ResourceConfig {
        let announced = ResourceFlags { has_capacity: true, ..ResourceFlags::default() };
        let ram_unit_gib = self.unit.load(Ordering::Relaxed);
        let any = GroupResources { ram: announced, cores: announced, instances: announced, ram_unit_gib };
        [("*".into(), any)].into_iter().collect()
    }
}
