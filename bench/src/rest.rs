//! A controller of projects while time only passes: the API server is its double and time is only counted, so that an hour
//! takes seconds; all processor time counts, that of the double included.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_cluster::testing::opened;
use berth_cluster::{Action, ProjectKey, Reconciler, Requests};
use berth_crds::hypervisor::Instance;
use berth_crds::testing;
use berth_telemetry::clock::Clock;
use berth_testkit::{Refusal, Server, World, next, seeds};
use berth_vm_source::VmRow;
use jiff::{SignedDuration, Timestamp};

use crate::error::Error;
use crate::proc;

pub const HOUR: u64 = 3600;
/// How often the tables are read when nothing changes.
const READ: u64 = 600;

/// Goes on only when it is set, to so many seconds after a start.
#[derive(Clone, Debug, Default)]
pub struct CountedClock(Arc<AtomicU64>);

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

/// VMs on one host.
const PER_HOST: usize = 50;

/// Creates hosts with so many VMs; where these are, their rows say ([`vm_row`]).
pub fn create_hosts(server: &Server, vms: usize) -> Result<(), Error> {
    for host in 0..vms.div_ceil(PER_HOST) {
        let mut object = seeds::host(&host_name(host), 100);
        let on_host = (host * PER_HOST..vms.min((host + 1) * PER_HOST)).map(vm_name);
        let instances = on_host.map(|id| Instance { name: id.clone(), id, active: true });
        object.status.get_or_insert_default().instances = instances.collect();
        object.metadata.labels = None;
        server.create(&object).map_err(refused)?;
    }
    Ok(())
}

pub fn vm_row(number: usize, project: String, zone: &str) -> VmRow {
    VmRow {
        id: vm_name(number).into(),
        project: project.into(),
        status: "ACTIVE".into(),
        created: Some(Timestamp::UNIX_EPOCH),
        zone: zone.into(),
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

pub fn project_name(number: usize) -> String {
    format!("project-{number:05}")
}

/// A process with one controller.
pub struct Scene<R: Reconciler> {
    clock: CountedClock,
    server: Server,
    world: World,
    requests: Requests<ProjectKey>,
    controller: Arc<R>,
    /// Reads the tables of VMs.
    read_vms: Box<dyn Fn()>,
    /// When each project is due, in seconds since the start.
    due: BTreeSet<(u64, ProjectKey)>,
}

/// What the hour has cost.
pub struct Cost {
    pub cpu_seconds: f64,
    pub runs: usize,
    /// The processor time of another run for all of them.
    pub again_seconds: f64,
    /// The writes of each object.
    pub writes: BTreeMap<String, usize>,
}

/// Makes a scene in a thread of its own, whose processor time is that of everything there, and lets an hour pass in it after
/// `settling` seconds.
pub fn run_hour<R: Reconciler<Key = ProjectKey>>(
    settling: u64,
    scene: impl FnOnce() -> Result<Scene<R>, Error> + Send + 'static,
) -> Result<Cost, Error> {
    let measured = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::system("a runtime"))?;
        runtime.block_on(async { hour(settling, scene()?).await })
    });
    measured.join().map_err(|_| Error::Scene("the hour without a change ended with a panic".to_owned()))?
}

async fn hour<R: Reconciler<Key = ProjectKey>>(settling: u64, mut scene: Scene<R>) -> Result<Cost, Error> {
    let thread = proc::this_thread()?;
    scene.pass(settling).await?;
    scene.server.take_log();
    let before = proc::seconds_of_thread(thread)?;
    let runs = scene.pass(HOUR).await?;
    let cpu_seconds = proc::seconds_of_thread(thread)? - before;
    let writes = count_writes(&scene.server.take_log());
    scene.requests.add(scene.controller.first_keys());
    let before = proc::seconds_of_thread(thread)?;
    scene.settle().await?;
    let again_seconds = proc::seconds_of_thread(thread)? - before;
    Ok(Cost { cpu_seconds, runs, again_seconds, writes })
}

/// The last part of a line is the path of the object.
fn count_writes(log: &[String]) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    for line in log {
        let path = line.split(' ').find(|word| word.contains('/')).unwrap_or(line);
        *writes.entry(path.to_owned()).or_default() += 1;
    }
    writes
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
pub fn refused(refusal: Refusal) -> Error {
    Error::Scene(format!("the double of the API server refuses an object: {refusal:?}"))
}

impl<R: Reconciler<Key = ProjectKey>> Scene<R> {
    /// The objects are there; `controller` makes the controller, and what reads the VMs.
    pub fn new(
        (server, clock): (Server, CountedClock),
        controller: impl FnOnce(&World, Requests<ProjectKey>) -> Result<(R, Box<dyn Fn()>), Error>,
    ) -> Result<Self, Error> {
        let (world, requests) = (World::new(&server), opened());
        let (controller, read_vms) = controller(&world, requests.clone())?;
        let controller = Arc::new(controller);
        world.declare(&controller, &requests)?;
        world.list().map_err(refused)?;
        read_vms();
        requests.add(controller.first_keys());
        Ok(Self { clock, server, world, requests, controller, read_vms, due: BTreeSet::new() })
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
                (self.read_vms)();
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
