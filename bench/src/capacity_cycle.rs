//! Rows A and B: a cycle of the capacity controller, and the placement of slots beside it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use berth_capacity::{CapacityController, CapacityMetrics, Context, Settings};
use berth_cluster::{FlavorGroupsCache, Routes};
use berth_core::flavor::Flavor;
use berth_core::liquid::units::RamUnit;
use berth_core::{ClusterName, HostName, SlotKey};
use berth_crds::{Hypervisor, Knowledge, labels, testing};
use berth_scheduler::{BuiltIn, Options, Placed, Request, Scheduler as _, SlotRequest, WaitingRank};
use berth_telemetry::clock::{Clock, SystemClock};
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Server, World, seeds};
use berth_vm_source::VmSource;
use serde_json::{Value, json};

use crate::error::Error;
use crate::rest::refused;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

const ZONES: [&str; 3] = ["eu-test-1a", "eu-test-1b", "eu-test-1c"];
const GROUPS: usize = 40;
/// Each group can use the hosts of one of these kinds.
const KINDS: usize = 8;
const HOSTS: usize = 2_000;
const PROBES: u32 = 240;
const PIPELINE: &str = "kvm-general-purpose-load-balancing";
const TIMES_RANKING: f64 = 1.5;
const LIMIT: Duration = Duration::from_millis(100);
const TIMES_ALONE: f64 = 1.5;
const GROWTH: f64 = 1.2;
const HOUR: Duration = Duration::from_secs(3600);

/// A process with the capacity controller.
struct Scene {
    world: World,
    controller: CapacityController<BuiltIn>,
}

/// Both rows, in a thread of their own, because each has a runtime for each of its threads.
pub fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let measured = std::thread::spawn(move || measure_here(size)).join();
    measured.map_err(|_| Error::Scene("the cycles of capacity ended with a panic".to_owned()))?
}

fn measure_here(size: Size) -> Result<Vec<Row>, Error> {
    let runs = size.pick(41, 11);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("a runtime"))?;
    // The double of the API server needs one to be made.
    let _entered = runtime.enter();
    let (cycle, ranking) = runtime.block_on(Scene::new(HOSTS)?.measure_cycle(runs))?;
    let (small, _) = runtime.block_on(Scene::new(HOSTS / 10)?.measure_cycle(runs))?;
    let millis = |took: Duration| took.as_secs_f64() * 1e3;
    let (took, ranked) = (cycle.median(), ranking.median() * PROBES);
    let ratio = took.as_secs_f64() / ranked.as_secs_f64();
    let growth = took.as_secs_f64() / small.median().as_secs_f64() / 10.0;
    let row = Row {
        letter: 'A',
        what: format!(
            "a cycle: {} zones, {GROUPS} groups, 2 probes each, {HOSTS} hosts; without the writes",
            ZONES.len()
        ),
        goals: vec![
            Goal::wanted(
                format!("at most {TIMES_RANKING} times {PROBES} rankings of all hosts"),
                format!("{ratio:.2} times ({:.1} ms)", millis(ranked)),
                ratio <= TIMES_RANKING,
            ),
            Goal::wanted("under 100 ms of one core", format!("{:.1} ms", millis(took)), took < LIMIT),
            Goal::wanted(
                format!("per host at most {GROWTH} times that of {} hosts", HOSTS / 10),
                format!("{growth:.2} times"),
                growth <= GROWTH,
            ),
        ],
    };
    Ok(vec![row, beside(&runtime, size.pick(100_000, 4_000))?])
}

/// Row B.
fn beside(runtime: &tokio::runtime::Runtime, slots: usize) -> Result<Row, Error> {
    let scene = Scene::new(HOSTS)?;
    let scheduler = scene.world.scheduler.clone();
    let mut alone = Times::default();
    let mut together = Times::default();
    place(runtime, &scheduler, slots / 10, &mut Times::default())?;
    place(runtime, &scheduler, slots, &mut alone)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let cycles = std::thread::spawn(move || run_cycles(&scene, &stopped));
    std::thread::sleep(Duration::from_millis(50));
    let placed = place(runtime, &scheduler, slots, &mut together);
    stop.store(true, Ordering::Relaxed);
    let cycles = cycles.join().map_err(|_| Error::Scene("the cycles ended with a panic".to_owned()))??;
    placed?;
    let micros = |times: &Times| times.percentile(99).as_secs_f64() * 1e6;
    let ratio = micros(&together) / micros(&alone);
    println!("B, alone: {alone}; beside {cycles} cycles: {together}");
    let goal = Goal::wanted(
        format!("p99 at most {TIMES_ALONE} times that without a cycle"),
        format!("{ratio:.2} times ({:.0} and {:.0} us)", micros(&together), micros(&alone)),
        ratio <= TIMES_ALONE,
    );
    Ok(Row {
        letter: 'B',
        what: format!("placing one of {slots} slots while cycles run all the time"),
        goals: vec![goal],
    })
}

fn run_cycles(scene: &Scene, stop: &AtomicBool) -> Result<u32, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("a runtime"))?;
    let mut cycles = 0;
    while !stop.load(Ordering::Relaxed) {
        runtime.block_on(scene.cycle())?;
        cycles += 1;
    }
    Ok(cycles)
}

/// Gives slots hosts one after the other, and gives each host back.
fn place(runtime: &tokio::runtime::Runtime, scheduler: &BuiltIn, slots: usize, times: &mut Times) -> Result<(), Error> {
    for number in 0..slots {
        let slot = slot(number);
        let begin = Instant::now();
        let placed = runtime.block_on(scheduler.place(&slot));
        times.add(begin.elapsed());
        let placed = placed.map_err(|error| Error::Scene(format!("a slot cannot be placed: {error}")))?;
        if !matches!(placed, Placed::Host(_)) {
            return Err(Error::Scene(format!("a slot gets no host: {placed:?}")));
        }
        scheduler.withdraw(&slot.key);
        scheduler.applied(std::slice::from_ref(&slot.key));
    }
    Ok(())
}

fn slot(number: usize) -> SlotRequest {
    let flavor = flavor(number % GROUPS);
    SlotRequest {
        key: SlotKey::new(ClusterName::home(), format!("slot-{number}")),
        rank: WaitingRank { created_unix: 0, commitment: "commitment".into(), number: number as u64 },
        project: "project".into(),
        zone: ZONES[number % ZONES.len()].into(),
        size: flavor.size(),
        flavor,
        vms: BTreeMap::new(),
        domain_name: None,
        pipeline: PIPELINE.to_owned(),
        prefer: None,
        request_id: String::new(),
    }
}

impl Scene {
    fn new(hosts: usize) -> Result<Self, Error> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let server = Server::new(clock.clone());
        server.create(&flavor_groups(&clock)).map_err(refused)?;
        for number in 0..hosts {
            server.create(&host(number)).map_err(refused)?;
        }
        let world = World::new(&server);
        world.list().map_err(refused)?;
        let (stores, metrics) = (&world.stores, Metrics::new(&BTreeMap::new())?);
        let controller = CapacityController::new(Context {
            capacities: world.writer(&stores.capacities),
            commitments: stores.commitments.clone(),
            hypervisors: stores.hypervisors.clone(),
            reservations: stores.reservations.clone(),
            pipelines: stores.pipelines.clone(),
            flavor_groups: FlavorGroupsCache::new(stores.knowledges.clone()),
            vms: VmSource::none(),
            routes: Routes::home_only(),
            scheduler: world.scheduler.clone(),
            unit_of: Arc::new(|_| RamUnit::default()),
            clock: clock.clone(),
            ids: FreshIds::counted(),
            metrics: CapacityMetrics::register(&metrics, &stores.capacities, (clock, HOUR))?,
            settings: Settings {
                interval: HOUR,
                least_interval: Duration::ZERO,
                total_pipeline: PIPELINE.to_owned(),
                placeable_pipeline: PIPELINE.to_owned(),
            },
        });
        Ok(Self { world, controller })
    }

    async fn cycle(&self) -> Result<usize, Error> {
        let plan = self.controller.dry_run().await;
        plan.map(|plan| plan.writes.len()).map_err(|error| Error::Scene(format!("a cycle fails: {error}")))
    }

    /// The times of cycles, and of rankings of all hosts.
    async fn measure_cycle(&self, runs: usize) -> Result<(Times, Times), Error> {
        let (mut cycles, mut rankings) = (Times::default(), Times::default());
        let request = Request {
            pipeline: PIPELINE.to_owned(),
            options: Options::read_only(),
            ..Request::new("ranking", Flavor { extra_specs: specs(None), ..flavor(0) })
        };
        for _ in 0..runs {
            let begin = Instant::now();
            let written = self.cycle().await?;
            cycles.add(begin.elapsed());
            if written != GROUPS * ZONES.len() {
                return Err(Error::Scene(format!("a cycle writes {written} objects")));
            }
            let begin = Instant::now();
            let hosts = self.world.scheduler.probe(&request, "").await;
            rankings.add(begin.elapsed());
            let hosts: Vec<HostName> = hosts.map_err(|error| Error::Scene(format!("no ranking: {error}")))?;
            if hosts.len() != self.world.scheduler.host_names().len() {
                return Err(Error::Scene(format!("a ranking has {} hosts", hosts.len())));
            }
        }
        Ok((cycles, rankings))
    }
}

/// A host of a kind with 2 TiB, of which a tenth is free.
fn host(number: usize) -> Hypervisor {
    let mut host = seeds::host(&format!("node-{number:05}"), 1);
    host.metadata.labels = Some([(labels::ZONE.to_owned(), ZONES[number % ZONES.len()].to_owned())].into());
    let status = host.status.get_or_insert_default();
    status.capacity = testing::size("2048Gi", "256");
    status.effective_capacity.clone_from(&status.capacity);
    status.allocation = testing::size(&format!("{}Gi", 1800 + number % 64), "220");
    status.traits = vec![trait_of((number / ZONES.len()) % KINDS)];
    host
}

fn trait_of(kind: usize) -> String {
    format!("CUSTOM_KIND_{kind}")
}

fn specs(kind: Option<usize>) -> BTreeMap<String, String> {
    let specs = kind.map(|kind| (format!("trait:{}", trait_of(kind)), "required".to_owned()));
    specs.into_iter().chain([("capabilities:hypervisor_type".to_owned(), "QEMU".to_owned())]).collect()
}

fn flavor(group: usize) -> Flavor {
    Flavor {
        name: format!("flavor_{group:02}").into(),
        vcpus: 2,
        memory_mib: 1024 * (8 + group as u64 % 13),
        disk_gib: 0,
        extra_specs: specs(Some(group % KINDS)),
    }
}

fn flavor_groups(clock: &Arc<dyn Clock>) -> Knowledge {
    let group = |number: usize| {
        let Flavor { name, vcpus, memory_mib, extra_specs, .. } = flavor(number);
        let flavor =
            json!({ "name": name.as_str(), "vcpus": vcpus, "memoryMB": memory_mib, "extraSpecs": extra_specs });
        json!({ "name": format!("group_{number:02}"), "flavors": [flavor] })
    };
    let features: Vec<Value> = (0..GROUPS).map(group).collect();
    seeds::knowledge(&json!(features), clock.now())
}
