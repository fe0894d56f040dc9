//! Pushes of quota, the usage of VMs and that of commitments change at the same time, in many orders. The end is that of some
//! serial order: one push as a whole, and the usage of the last VMs and commitments.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::opened;
use berth_cluster::{Action, FlavorGroupsCache, ProjectKey, Reconciler as _, Requests, Routes};
use berth_core::commitment::State;
use berth_core::flavor::Flavor;
use berth_core::liquid::units::RamUnit;
use berth_crds::{CommittedResource, names, testing};
use berth_projects::ProjectSources;
use berth_quota::{Context, QuotaController, QuotaMetrics, Settings};
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Server, next, seeds};
use berth_vm_source::{VmRow, VmSnapshot, VmSource};
use fastrand::Rng;
use futures::future::{join_all, join3};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::setting::*;

const SEEDS: u64 = 200;
const ZONES: [&str; 3] = ["eu-test-1a", "1b", "1c"];
const RAM: &str = "mem_v4_ram";

/// The controller of usage in the process that serves pushes.
struct Usage {
    controller: Arc<QuotaController>,
    requests: Requests<ProjectKey>,
    vms: VmSource,
}

impl Usage {
    fn start(process: &Process) -> Self {
        let (world, requests) = (&process.world, opened());
        let (stores, vms) = (&world.stores, VmSource::new(clock(), Duration::from_secs(3600)));
        let metrics = QuotaMetrics::register(&Metrics::new(&[].into()).unwrap()).unwrap();
        let controller = Arc::new(QuotaController::new(Context {
            quotas: world.writer(&stores.quotas),
            sources: ProjectSources::new(
                stores,
                FlavorGroupsCache::new(stores.knowledges.clone()),
                vms.clone(),
                Routes::home_only(),
            ),
            unit_of: Arc::new(|_| RamUnit::default()),
            clock: clock(),
            metrics,
            requests: requests.clone(),
            settings: Settings {
                period: Duration::from_secs(300),
                states: vec![State::Confirmed],
                follows_hosts: true,
            },
        }));
        world.declare(&controller, &requests).unwrap();
        Self { controller, requests, vms }
    }

    /// So many VMs of 480 GiB run.
    fn publish(&self, vms: usize) {
        self.vms.set_configured(true);
        let flavor = Flavor {
            name: testing::FLAVOR.into(),
            vcpus: 30,
            memory_mib: 480 * 1024,
            disk_gib: 0,
            extra_specs: [].into(),
        };
        let row = |number: usize| VmRow {
            id: format!("vm-{number}").into(),
            project: PROJECT.into(),
            zone: ZONES[0].into(),
            host: "node1".into(),
            flavor: testing::FLAVOR.into(),
            ..VmRow::default()
        };
        self.vms.publish(VmSnapshot::new((0..vms).map(row).collect(), vec![flavor], clock().now()));
    }

    /// Reconciles what is requested until nothing is.
    async fn settle(&self, process: &Process) {
        for _ in 0..100 {
            process.world.deliver().unwrap();
            let Some(key) = next(&self.requests) else { return };
            if !matches!(
                self.controller.reconcile(key.clone()).await,
                Ok(Action::RequeueAfter(_) | Action::AwaitChange)
            ) {
                self.requests.add([key]);
                sleep(Duration::from_millis(5)).await;
            }
        }
        panic!("the controller does not come to rest");
    }
}

fn of(quota: u64, zones: &[&str]) -> (Value, Value) {
    let values: Vec<_> = zones.iter().map(|zone| (RAM, *zone, quota)).collect();
    (push(&values), zones.iter().map(|zone| ((*zone).to_owned(), json!({ RAM: quota }))).collect())
}

async fn pause(random: &mut Rng) {
    let time = Duration::from_millis(random.u64(..20));
    sleep(time).await;
}

/// Pushes one after the other; each is repeated until it is stored.
async fn push_all(process: &Process, pushes: &[(Value, Value)], mut random: Rng) {
    for (body, _) in pushes {
        pause(&mut random).await;
        while process.push(body).await.status != 204 {
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn use_commitment(server: &Server, gib: u64) {
    let used = json!({ "memory": format!("{gib}Gi"), "cpu": "1" });
    let status = json!({ "status": { "usedResources": used, "usedDeclaredGiB": gib } });
    server.edit_status::<CommittedResource>(&names::commitment("uuid-1"), &status).unwrap();
}

async fn run(seed: u64) {
    let (server, mut random) = (server(), Rng::with_seed(seed));
    let mut commitment = seeds::waiting_commitment("uuid-1", 1);
    (commitment.spec.project_id, commitment.spec.availability_zone) = (PROJECT.to_owned(), ZONES[0].to_owned());
    server.create(&commitment).unwrap();
    let process = Process::start(&server);
    let usage = Usage::start(&process);
    server.seed(seed);
    server.latency(Duration::ZERO..=Duration::from_millis(8), Duration::ZERO..=Duration::from_millis(8));

    let pushes: Vec<Vec<(Value, Value)>> = (0..3_u64)
        .map(|client| (0..2_u64).map(|number| of(10 * client + number + 1, &ZONES[..=random.usize(1..3)])).collect())
        .collect();
    let clients: Vec<_> = pushes.iter().map(|pushes| push_all(&process, pushes, random.fork())).collect();
    let (mut of_vms, mut of_commitments) = (random.fork(), random.fork());
    let vms = async {
        for vms in [3, 1, 2] {
            usage.publish(vms);
            usage.requests.add([ProjectKey::from(PROJECT)]);
            pause(&mut of_vms).await;
            usage.settle(&process).await;
        }
    };
    let commitments = async {
        for gib in [480, 0, 240] {
            use_commitment(&server, gib);
            pause(&mut of_commitments).await;
            process.world.deliver().unwrap();
        }
    };
    join3(join_all(clients), vms, commitments).await;
    usage.requests.add([ProjectKey::from(PROJECT)]);
    usage.settle(&process).await;

    let end = stored(&server);
    assert!(pushes.iter().flatten().any(|(_, expected)| *expected == end), "seed {seed}: a mixture: {end}");
    let status = object_in(&server, ZONES[0]).status.unwrap();
    let ram = format!("hw_version_{RAM}");
    assert_eq!((status.total_usage[&ram], status.payg_usage[&ram]), (960, 720), "seed {seed}");
    server.take_log();
    usage.requests.add([ProjectKey::from(PROJECT)]);
    usage.settle(&process).await;
    assert_eq!(server.take_log(), [""; 0], "seed {seed}");
}

#[tokio::test(start_paused = true)]
async fn pushes_usage_and_commitments_at_the_same_time_end_as_in_some_serial_order() {
    for seed in 0..SEEDS {
        run(seed).await;
    }
}
