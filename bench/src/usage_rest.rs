//! Row x: the usage reconciler during an hour in which nothing changes, over a whole cloud. The API server is its double and
//! time is only counted, so that the hour takes seconds; all processor time counts, that of the double included.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use berth_cluster::testing::opened;
use berth_cluster::{Action, FlavorGroupsCache, ProjectKey, Reconciler as _, Requests, Routes};
use berth_crds::conditions::{Status, ready_condition};
use berth_crds::hypervisor::Instance;
use berth_crds::{CommittedResourceStatus, names, testing};
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::Metrics;
use berth_testkit::vms::slot_flavor;
use berth_testkit::{Refusal, Server, World, next, seeds};
use berth_usage::{Context, Settings, UsageController, UsageMetrics};
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use jiff::{SignedDuration, Timestamp};

use crate::error::Error;
use crate::pairs::per;
use crate::proc;
use crate::size::Size;
use crate::table::{Goal, Row};

const HOUR: u64 = 3600;
/// How often the tables are read when nothing changes.
const READ: u64 = 600;
const PERIOD: Duration = Duration::from_secs(300);
const PER_HOST: usize = 50;
const PER_PROJECT: usize = 20;
const SLOTS_PER_COMMITMENT: usize = 5;
const PERCENT: f64 = 1.0;

/// The cloud, and a process with the usage reconciler alone.
struct Scene {
    vms: usize,
    clock: CountedClock,
    server: Server,
    world: World,
    source: VmSource,
    requests: Requests<ProjectKey>,
    controller: Arc<UsageController>,
    /// When each project is due, in seconds since the start.
    due: BTreeSet<(u64, ProjectKey)>,
}

/// Goes on only when it is set, to so many seconds after a start.
#[derive(Clone, Debug, Default)]
struct CountedClock(Arc<AtomicU64>);

impl CountedClock {
    fn seconds(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clock for CountedClock {
    fn now(&self) -> Timestamp {
        let seconds = i64::try_from(self.seconds()).unwrap_or_default();
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 50) + SignedDuration::from_secs(seconds)
    }
}

/// What the hour has cost.
struct Cost {
    cpu_seconds: f64,
    runs: usize,
    writes: BTreeMap<String, usize>,
}

pub fn measure(size: Size) -> Result<Row, Error> {
    let vms = size.pick(100_000, 2_000);
    // A thread of its own, whose processor time is that of everything here.
    let measured = std::thread::spawn(move || run_hour(vms)).join();
    let cost = measured.map_err(|_| Error::Scene("the hour without a change ended with a panic".to_owned()))??;
    let commitments = vms / SLOTS_PER_COMMITMENT;
    let most = cost.writes.values().copied().max().unwrap_or_default();
    let percent = cost.cpu_seconds * 100.0 / per(HOUR, 1);
    println!("x, {vms} VMs: {} runs, {} written, {:.1} s", cost.runs, cost.writes.len(), cost.cpu_seconds);
    let what = format!("usage of {vms} VMs in {commitments} commitments, without a change for an hour");
    let goals = vec![
        Goal::budget("at most one write for each commitment", most.to_string(), most <= 1),
        Goal::wanted(
            format!("under {PERCENT} % of a core, the double of the API server included"),
            format!("{percent:.2} %"),
            percent < PERCENT,
        ),
    ];
    Ok(Row { letter: 'x', what, goals })
}

fn run_hour(vms: usize) -> Result<Cost, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("a runtime"))?;
    runtime.block_on(async {
        let mut scene = Scene::new(vms)?;
        scene.pass(PERIOD.as_secs()).await?;
        scene.server.take_log();
        let thread = proc::this_thread()?;
        let before = proc::seconds_of_thread(thread)?;
        let runs = scene.pass(HOUR).await?;
        let cpu_seconds = proc::seconds_of_thread(thread)? - before;
        Ok(Cost { cpu_seconds, runs, writes: count_writes(&scene.server.take_log()) })
    })
}

/// The writes of each object.
fn count_writes(log: &[String]) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    for line in log {
        let name =
            line.find("commitment-").map_or("", |from| line[from..].split([' ', '/']).next().unwrap_or_default());
        *writes.entry(name.to_owned()).or_default() += 1;
    }
    writes
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
fn refused(refusal: Refusal) -> Error {
    Error::Scene(format!("the double of the API server refuses an object: {refusal:?}"))
}

impl Scene {
    fn new(vms: usize) -> Result<Self, Error> {
        let clock = CountedClock::default();
        let server = Server::new(Arc::new(clock.clone()));
        fill(&server, vms, clock.now())?;
        let (world, requests) = (World::new(&server), opened());
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let source = VmSource::new(shared.clone(), Duration::from_secs(HOUR));
        let metrics = Metrics::new(&BTreeMap::new())?;
        let controller = Arc::new(UsageController::new(Context {
            commitments: world.writer(&world.stores.commitments),
            hypervisors: world.stores.hypervisors.clone(),
            flavor_groups: FlavorGroupsCache::new(world.stores.knowledges.clone()),
            vms: source.clone(),
            routes: Routes::home_only(),
            clock: shared,
            metrics: UsageMetrics::register(&metrics)?,
            requests: requests.clone(),
            settings: Settings { period: PERIOD },
        }));
        world.declare(&controller, &requests)?;
        world.list().map_err(refused)?;
        let scene = Self { vms, clock, server, world, source, requests, controller, due: BTreeSet::new() };
        scene.read_vms();
        scene.requests.add(scene.controller.first_keys());
        Ok(scene)
    }

    /// A complete read, without the database.
    fn read_vms(&self) {
        let rows = (0..self.vms).map(row).collect();
        self.source.publish(VmSnapshot::new(rows, vec![slot_flavor()], self.clock.now()));
    }

    /// So many seconds pass; the tables are read and projects are reconciled when they are due. Returns the number of
    /// reconciliations.
    async fn pass(&mut self, seconds: u64) -> Result<usize, Error> {
        let (end, mut runs) = (self.clock.seconds() + seconds, self.settle().await?);
        loop {
            let read = (self.clock.seconds() / READ + 1) * READ;
            let next = self.due.first().map_or(read, |(at, _)| *at).min(read).min(end);
            self.clock.0.store(next, Ordering::Relaxed);
            if next == read {
                self.read_vms();
            }
            while let Some((_, key)) = self.due.first().filter(|(at, _)| *at <= next).cloned() {
                self.due.pop_first();
                self.requests.add([key]);
            }
            runs += self.settle().await?;
            if next == end {
                return Ok(runs);
            }
        }
    }

    async fn settle(&mut self) -> Result<usize, Error> {
        let mut runs = 0;
        self.world.deliver().map_err(refused)?;
        while let Some(key) = next(&self.requests) {
            runs += 1;
            let action = self.controller.reconcile(key.clone()).await;
            let action = action.map_err(|error| Error::Scene(format!("a project cannot be reconciled: {error}")))?;
            if let Action::RequeueAfter(delay) = action {
                self.due.insert((self.clock.seconds() + delay.as_secs().max(1), key));
            }
            if self.requests.is_empty() {
                self.world.deliver().map_err(refused)?;
            }
        }
        Ok(runs)
    }
}

fn fill(server: &Server, vms: usize, now: Timestamp) -> Result<(), Error> {
    server.create(&seeds::flavor_groups_with_half(now)).map_err(refused)?;
    for host in 0..vms.div_ceil(PER_HOST) {
        let mut object = seeds::host(&host_name(host), 100);
        let on_host = (host * PER_HOST..vms.min((host + 1) * PER_HOST)).map(vm_name);
        let instances = on_host.map(|id| Instance { name: id.clone(), id, active: true });
        object.status.get_or_insert_default().instances = instances.collect();
        server.create(&object).map_err(refused)?;
    }
    for number in 0..vms / SLOTS_PER_COMMITMENT {
        let mut object = testing::commitment(&format!("uuid-{number:06}"), &seeds::slots(SLOTS_PER_COMMITMENT as u64));
        object.spec.project_id = project_name(number * SLOTS_PER_COMMITMENT);
        let ready = ready_condition(Status::True, "Accepted", "", Some(1), now);
        object.status = Some(CommittedResourceStatus {
            accepted_spec: Some(object.spec.clone()),
            conditions: vec![ready],
            ..CommittedResourceStatus::default()
        });
        server.create(&object).map_err(refused)?;
        let status = serde_json::json!({ "status": object.status });
        let name = names::commitment(&object.spec.commitment_uuid);
        server.edit_status::<berth_crds::CommittedResource>(&name, &status).map_err(refused)?;
    }
    Ok(())
}

fn row(number: usize) -> VmRow {
    VmRow {
        id: vm_name(number).into(),
        project: project_name(number).into(),
        status: "ACTIVE".into(),
        created: Some(Timestamp::UNIX_EPOCH),
        zone: testing::ZONE.into(),
        host: host_name(number / PER_HOST).into(),
        flavor: testing::FLAVOR.into(),
        ..VmRow::default()
    }
}

fn vm_name(number: usize) -> String {
    format!("vm-{number:06}")
}

fn host_name(number: usize) -> String {
    format!("node-{number:05}")
}

fn project_name(vm: usize) -> String {
    format!("project-{:05}", vm / PER_PROJECT)
}
