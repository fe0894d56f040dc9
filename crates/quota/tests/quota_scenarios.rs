//! The scenarios of quota, each without a fault, with a process that ends before and after every write, and with seeds for
//! faults of the API server. What commitments pay for is written by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::{failing, opened};
use berth_cluster::{FlavorGroupsCache, Routes};
use berth_core::ClusterName;
use berth_core::commitment::State;
use berth_core::flavor::Flavor;
use berth_core::liquid::units::RamUnit;
use berth_crds::{CommittedResource, Hypervisor, ProjectQuota, ProjectQuotaSpec, ProjectQuotaStatus, names, testing};
use berth_invariants::testing::broken_payg;
use berth_invariants::{Key, Snapshot, Violation};
use berth_projects::ProjectSources;
use berth_quota::{Context, QuotaController, QuotaMetrics, Settings};
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_testkit::scenarios::{Disturbance, ScenarioRun};
use berth_testkit::{Driver, Fault, Server, Verb, World, path_of, scenarios, seeds};
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use serde_json::json;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const PERIOD: Duration = Duration::from_secs(300);
const NODE1: &str = "node1";
const NODE2: &str = "node2";
const RAM: &str = "hw_version_mem_v4_ram";
const CORES: &str = "hw_version_mem_v4_cores";

struct Process {
    world: World,
    vms: VmSource,
    metrics: Metrics,
    driver: Driver<QuotaController>,
}

struct Run {
    server: Server,
    clock: Arc<dyn Clock>,
    rows: BTreeMap<String, VmRow>,
    process: Process,
    disturbance: Disturbance,
}

impl Process {
    fn start(server: &Server, clock: &Arc<dyn Clock>) -> Self {
        let states = vec![State::Confirmed, State::Guaranteed];
        Self::start_with(server, clock, Settings { period: PERIOD, states, follows_hosts: true })
    }

    fn start_with(server: &Server, clock: &Arc<dyn Clock>, settings: Settings) -> Self {
        let (world, metrics, requests) = (World::new(server), Metrics::new(&[].into()).unwrap(), opened());
        let (stores, vms) = (&world.stores, VmSource::new(clock.clone(), HOUR));
        let controller = QuotaController::new(Context {
            quotas: world.writer(&stores.quotas),
            sources: ProjectSources::new(
                stores,
                FlavorGroupsCache::new(stores.knowledges.clone()),
                vms.clone(),
                Routes::home_only(),
            ),
            unit_of: Arc::new(|_| RamUnit::new(240).unwrap()),
            clock: clock.clone(),
            metrics: QuotaMetrics::register(&metrics).unwrap(),
            requests: requests.clone(),
            settings,
        });
        let driver = Driver::start(&world, controller, requests).unwrap();
        Self { world, vms, metrics, driver }
    }
}

impl ScenarioRun for Run {
    fn begin(disturbance: Disturbance) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let server = Server::new(clock.clone());
        server.create(&seeds::flavor_groups_with_half(clock.now())).unwrap();
        server.create(&seeds::host(NODE1, 100)).unwrap();
        server.create(&seeds::in_zone(seeds::host(NODE2, 100), seeds::OTHER_ZONE)).unwrap();
        let process = Process::start(&server, &clock);
        let run = Self { server, clock, rows: BTreeMap::new(), process, disturbance };
        run.publish();
        run
    }

    fn server(&self) -> &Server {
        &self.server
    }

    /// Everything once more changes nothing.
    async fn finish(&mut self) {
        self.server.heal();
        self.settle().await;
        self.server.take_log();
        self.process.driver.rerun().await;
        assert_eq!(self.server.take_log(), [""; 0]);
        assert_eq!(self.server.no_op_writes(), 0);
        assert_eq!(broken(&self.server), []);
    }
}

/// Violations of the invariant of quota.
fn broken(server: &Server) -> Vec<Violation> {
    let commitments = server.all::<CommittedResource>().unwrap().into_iter().map(Arc::new);
    let snapshot = Snapshot::of(commitments.map(|object| (ClusterName::home(), object)), [], []);
    let quotas = server.all::<ProjectQuota>().unwrap();
    let keys: Vec<Key> = quotas.iter().map(|quota| Key::new(ClusterName::home(), quota.name_any())).collect();
    broken_payg(&snapshot, keys.iter().zip(&quotas))
}

impl Run {
    fn disturb(&self) {
        self.disturbance.begin(&self.server);
    }

    async fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        let work = self.process.driver.wait_until(end);
        if self.disturbance.interrupt(&self.server, work).await.is_none() {
            self.process = Process::start(&self.server, &self.clock);
            self.publish();
            self.process.driver.wait_until(end.max(Instant::now())).await;
        }
    }

    /// What follows from an event is written within a second, unless writes fail.
    async fn settle(&mut self) {
        let time = if self.disturbance.has_faults() { MINUTE } else { SECOND };
        self.wait(time).await;
    }

    /// The table is read.
    fn publish(&self) {
        let flavor = |name: &str, vcpus, memory_gib: u64| Flavor {
            name: name.into(),
            vcpus,
            memory_mib: memory_gib * 1024 - 16,
            disk_gib: 0,
            extra_specs: BTreeMap::new(),
        };
        let flavors = vec![flavor(testing::FLAVOR, 30, 480), flavor(seeds::HALF_FLAVOR, 15, 240)];
        self.process.vms.publish(VmSnapshot::new(self.rows.values().cloned().collect(), flavors, self.clock.now()));
    }

    fn start_vm(&mut self, vm: &str, flavor: &str) {
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

    fn run_on(&self, host: &str, vms: &[&str]) {
        let instances: Vec<_> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": true })).collect();
        self.server.edit_status::<Hypervisor>(host, &json!({ "status": { "instances": instances } })).unwrap();
    }

    fn push(&self, zone: &str, gib: i64) {
        let quota = [(RAM.to_owned(), gib)].into();
        let name = names::project_quota(testing::PROJECT, zone);
        if self.server.get::<ProjectQuota>(&name).is_ok() {
            let patch = json!({ "spec": { "quota": { RAM: gib } } });
            self.server.edit::<ProjectQuota>(&name, &patch).unwrap();
            return;
        }
        let (project_id, availability_zone) = (testing::PROJECT.to_owned(), zone.to_owned());
        let spec = ProjectQuotaSpec { project_id, availability_zone, quota, ..ProjectQuotaSpec::default() };
        self.server.create(&ProjectQuota::new(&name, spec)).unwrap();
    }

    /// VMs with so many GiB count in the commitment.
    fn use_commitment(&self, uuid: &str, gib: u64) {
        let used = json!({ "memory": format!("{gib}Gi"), "cpu": "1" });
        let status = json!({ "status": { "usedResources": used, "usedDeclaredGiB": gib } });
        self.server.edit_status::<CommittedResource>(&names::commitment(uuid), &status).unwrap();
    }

    fn status(&self, zone: &str) -> ProjectQuotaStatus {
        let object: ProjectQuota = self.server.get(&names::project_quota(testing::PROJECT, zone)).unwrap();
        object.status.unwrap_or_default()
    }

    /// RAM in all and without a commitment, and cores in all.
    fn assert_usage(&self, zone: &str, expected: [i64; 3]) {
        let status = self.status(zone);
        let of = |map: &BTreeMap<String, i64>, name: &str| map.get(name).copied().unwrap_or(-1);
        let found = [of(&status.total_usage, RAM), of(&status.payg_usage, RAM), of(&status.total_usage, CORES)];
        assert_eq!(found, expected, "{zone}: {status:?}");
    }
}

scenarios! { Run, all: vm_comes_and_goes vm_moves_zone commitment_pays quota_push_while_usage_moves table_away unreadable }

mod all {
    use super::*;

    pub fn vm_comes_and_goes(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.push(testing::ZONE, 960);
            run.disturb();
            run.settle().await;
            run.assert_usage(testing::ZONE, [0, 0, -1]);
            run.start_vm("vm-1", testing::FLAVOR);
            run.start_vm("vm-2", seeds::HALF_FLAVOR);
            run.run_on(NODE1, &["vm-1", "vm-2"]);
            run.publish();
            run.settle().await;
            run.assert_usage(testing::ZONE, [720, 720, 45]);
            let status = run.status(testing::ZONE);
            assert_eq!(status.limes_usage_summary.as_deref(), Some("mem_v4: c=45 i=2 r=3"));
            assert_eq!(status.limes_quota_summary.as_deref(), Some("mem_v4: c=0 i=0 r=4"));
            run.rows.remove("vm-1");
            run.run_on(NODE1, &["vm-2"]);
            run.publish();
            run.settle().await;
            run.assert_usage(testing::ZONE, [240, 240, 15]);
        }
        .boxed()
    }

    /// The hosts know it before the table does.
    pub fn vm_moves_zone(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.push(testing::ZONE, 960);
            run.push(seeds::OTHER_ZONE, 960);
            run.start_vm("vm-1", testing::FLAVOR);
            run.run_on(NODE1, &["vm-1"]);
            run.disturb();
            run.publish();
            run.settle().await;
            run.assert_usage(testing::ZONE, [480, 480, 30]);
            run.assert_usage(seeds::OTHER_ZONE, [0, 0, -1]);
            run.run_on(NODE2, &["vm-1"]);
            run.run_on(NODE1, &[]);
            run.settle().await;
            run.assert_usage(testing::ZONE, [0, 0, -1]);
            run.assert_usage(seeds::OTHER_ZONE, [480, 480, 30]);
        }
        .boxed()
    }

    pub fn commitment_pays(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.push(testing::ZONE, 960);
            run.start_vm("vm-1", testing::FLAVOR);
            run.start_vm("vm-2", seeds::HALF_FLAVOR);
            run.server.create(&seeds::waiting_commitment("uuid-1", 1)).unwrap();
            run.disturb();
            run.publish();
            run.settle().await;
            run.assert_usage(testing::ZONE, [720, 720, 45]);
            run.use_commitment("uuid-1", 480);
            run.settle().await;
            run.assert_usage(testing::ZONE, [720, 240, 45]);
            let patch = json!({ "spec": { "state": "superseded" } });
            run.server.edit::<CommittedResource>(&names::commitment("uuid-1"), &patch).unwrap();
            run.settle().await;
            run.assert_usage(testing::ZONE, [720, 720, 45]);
        }
        .boxed()
    }

    /// Between the read and the write of the usage a new quota is pushed: the usage is computed again.
    pub fn quota_push_while_usage_moves(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.push(testing::ZONE, 960);
            run.settle().await;
            run.disturb();
            let name = names::project_quota(testing::PROJECT, testing::ZONE);
            let path = path_of::<ProjectQuota>(&name);
            run.server.before(Verb::PatchStatus, &path, 1, move |server| {
                let pushed = json!({ "spec": { "quota": { RAM: 480, CORES: 7 } } });
                server.edit::<ProjectQuota>(&name, &pushed).unwrap();
            });
            run.start_vm("vm-1", testing::FLAVOR);
            run.publish();
            run.settle().await;
            run.assert_usage(testing::ZONE, [480, 480, 30]);
            let status = run.status(testing::ZONE);
            assert_eq!(status.limes_quota_summary.as_deref(), Some("mem_v4: c=7 i=0 r=2"));
        }
        .boxed()
    }

    /// No read has succeeded for longer than the data may be used.
    pub fn table_away(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.push(testing::ZONE, 960);
            run.start_vm("vm-1", testing::FLAVOR);
            run.run_on(NODE1, &["vm-1"]);
            run.disturb();
            run.publish();
            run.settle().await;
            run.process.vms.report_failure("connection refused");
            run.wait(3 * HOUR).await;
            run.server.take_log();
            run.push(testing::ZONE, 480);
            run.run_on(NODE1, &[]);
            run.wait(HOUR).await;
            assert_eq!(run.server.take_log(), [""; 0]);
            run.assert_usage(testing::ZONE, [480, 480, 30]);
            run.rows.clear();
            run.publish();
            run.settle().await;
            run.assert_usage(testing::ZONE, [0, 0, -1]);
        }
        .boxed()
    }

    /// Neither commitments nor hosts of a cluster that does not answer are gone.
    pub fn unreadable(run: &mut Run) -> BoxFuture<'_, ()> {
        async move {
            run.push(testing::ZONE, 960);
            run.start_vm("vm-1", testing::FLAVOR);
            run.server.create(&seeds::waiting_commitment("uuid-1", 1)).unwrap();
            run.use_commitment("uuid-1", 480);
            run.disturb();
            run.publish();
            run.settle().await;
            run.assert_usage(testing::ZONE, [480, 0, 30]);
            let (stores, home) = (run.process.world.stores.clone(), ClusterName::home());
            run.rows.clear();
            run.server.take_log();
            for away in [true, false] {
                let (why, other) = (Some("no route to host"), None);
                failing(&stores.commitments, &home, if away { why } else { other });
                failing(&stores.hypervisors, &home, if away { other } else { why });
                run.publish();
                run.wait(10 * MINUTE).await;
                assert_eq!(run.server.take_log(), [""; 0]);
            }
            failing(&stores.hypervisors, &home, None);
            run.settle().await;
            run.assert_usage(testing::ZONE, [0, 0, -1]);
        }
        .boxed()
    }
}

/// The lines of the metrics page about quota.
fn series(process: &Process) -> Vec<String> {
    let page = process.metrics.render();
    let of_usage = |line: &&str| line.starts_with("cortex_quota_") && line.contains("project_id");
    let mut lines: Vec<String> = page.lines().filter(of_usage).map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Runs with this result.
fn counted(run: &Run, result: &str) -> u64 {
    let line = format!(r#"cortex_quota_reconcile_total{{result="{result}"}} "#);
    let page = run.process.metrics.render();
    page.lines().find_map(|shown| shown.strip_prefix(&line)?.parse().ok()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn all_usage_of_a_project_is_shown_zeros_included_until_its_quota_ends() {
    let mut run = Run::begin(Disturbance::Calm);
    run.push(testing::ZONE, 960);
    run.start_vm("vm-1", testing::FLAVOR);
    run.server.create(&seeds::waiting_commitment("uuid-1", 1)).unwrap();
    run.use_commitment("uuid-1", 480);
    run.publish();
    run.settle().await;
    let labels = |kind: &str| {
        let (project, zone) = (testing::PROJECT, testing::ZONE);
        format!(r#"{{availability_zone="{zone}",project_id="{project}",resource="hw_version_mem_v4_{kind}"}}"#)
    };
    let mut expected = Vec::new();
    for (gauge, [cores, instances, ram]) in [("cr", [0, 0, 480]), ("payg", [30, 1, 0]), ("total", [30, 1, 480])] {
        let line = |(kind, value): (&str, i64)| format!("cortex_quota_{gauge}_usage{} {value}", labels(kind));
        expected.extend([("cores", cores), ("instances", instances), ("ram", ram)].map(line));
    }
    assert_eq!(series(&run.process), expected);
    assert!(counted(&run, "success") > 0 && counted(&run, "failure") == 0);
    run.server.delete::<ProjectQuota>(&names::project_quota(testing::PROJECT, testing::ZONE)).unwrap();
    run.settle().await;
    assert_eq!(series(&run.process), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_another_client_was_faster_than_is_repeated_and_is_no_failure() {
    let mut run = Run::begin(Disturbance::Calm);
    run.push(testing::ZONE, 960);
    run.settle().await;
    let name = names::project_quota(testing::PROJECT, testing::ZONE);
    let (successes, path) = (counted(&run, "success"), path_of::<ProjectQuota>(&name));
    run.server.fail(Verb::PatchStatus, &path, 1, Fault::Conflict);
    run.start_vm("vm-1", testing::FLAVOR);
    run.publish();
    run.settle().await;
    run.assert_usage(testing::ZONE, [480, 480, 30]);
    assert_eq!((counted(&run, "success"), counted(&run, "failure")), (successes + 1, 0));
    run.server.fail(Verb::PatchStatus, &path, 1, Fault::Internal);
    run.start_vm("vm-2", testing::FLAVOR);
    run.publish();
    run.settle().await;
    assert_eq!(counted(&run, "failure"), 1, "the outcome of this write is not known");
}

/// Admission refuses a second object with the same UUID in a cluster, so only the reason tells.
#[tokio::test(start_paused = true)]
async fn of_two_objects_of_one_commitment_the_served_one_pays() {
    let mut run = Run::begin(Disturbance::Calm);
    run.push(testing::ZONE, 960);
    run.start_vm("vm-1", testing::FLAVOR);
    run.start_vm("vm-2", testing::FLAVOR);
    for uuid in ["uuid-1", "uuid-2"] {
        run.server.create(&seeds::waiting_commitment(uuid, 1)).unwrap();
        run.use_commitment(uuid, 480);
    }
    run.publish();
    run.settle().await;
    run.assert_usage(testing::ZONE, [960, 0, 60]);
    for (reason, payg) in [("DuplicateUUID", 480), ("Accepted", 0)] {
        let ready = json!({ "type": "Ready", "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": "2026-03-01T12:00:00Z" });
        let status = json!({ "status": { "conditions": [ready] } });
        run.server.edit_status::<CommittedResource>(&names::commitment("uuid-2"), &status).unwrap();
        run.settle().await;
        run.assert_usage(testing::ZONE, [960, payg, 60]);
    }
}

#[tokio::test(start_paused = true)]
async fn changes_of_hosts_alone_wait_for_the_period_if_they_are_not_followed() {
    let mut run = Run::begin(Disturbance::Calm);
    let states = vec![State::Confirmed, State::Guaranteed];
    let settings = Settings { period: PERIOD, states, follows_hosts: false };
    run.process = Process::start_with(&run.server, &run.clock, settings);
    for zone in [testing::ZONE, seeds::OTHER_ZONE] {
        run.push(zone, 960);
    }
    run.start_vm("vm-1", testing::FLAVOR);
    run.run_on(NODE1, &["vm-1"]);
    run.publish();
    run.settle().await;
    run.run_on(NODE2, &["vm-1"]);
    run.run_on(NODE1, &[]);
    run.settle().await;
    run.assert_usage(testing::ZONE, [480, 480, 30]);
    run.wait(PERIOD).await;
    run.assert_usage(testing::ZONE, [0, 0, -1]);
    run.assert_usage(seeds::OTHER_ZONE, [480, 480, 30]);
}

#[tokio::test(start_paused = true)]
async fn without_a_change_there_is_one_write_in_an_hour() {
    let mut run = Run::begin(Disturbance::Calm);
    run.push(testing::ZONE, 960);
    run.start_vm("vm-1", testing::FLAVOR);
    run.publish();
    run.settle().await;
    run.server.take_log();
    for _ in 0..4 {
        for _ in 0..12 {
            run.publish();
            run.wait(5 * MINUTE).await;
        }
        assert_eq!(run.server.take_log().len(), 1);
    }
}
