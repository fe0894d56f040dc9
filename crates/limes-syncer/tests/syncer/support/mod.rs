//! One process with the syncer over the double of the API server, and Keystone and Limes in memory. The runs and the
//! comparisons happen when a test says so.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod limes;
#[path = "../../../../liquid/tests/matrix/test_clock.rs"]
pub mod test_clock;

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::opened;
use berth_cluster::{ClusterMetrics, Clusters, Events, FlavorGroupsCache, ObjectKey, Reconciler, Requests, Routes};
use berth_core::GroupName;
use berth_core::liquid::units::RamUnit;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::conditions::{Status, condition};
use berth_crds::{CommitmentChange, CommitmentState, CommittedResource, Knowledge, Time, labels, names, testing};
use berth_limes_syncer::{Context, Fetcher, FetcherParts, Settings, SyncController, SyncKey, SyncMetrics};
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Driver, Server, World, next, seeds};
use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use limes::FakeLimes;
use test_clock::TestClock;

pub const GROUP: &str = testing::GROUP;
pub const HOUR: Duration = Duration::from_secs(3600);
/// After which a change does not matter any more.
pub const QUIET: Duration = Duration::from_secs(120);

/// What lives longer than a process.
#[derive(Clone)]
pub struct Stage {
    pub server: Server,
    pub clock: TestClock,
    pub limes: FakeLimes,
    pub ends_stale: bool,
}

impl Stage {
    /// Flavor groups, and so many projects without commitments.
    pub fn new(projects: usize) -> Self {
        let clock = TestClock::default();
        let server = Server::new(Arc::new(clock.clone()));
        server.create(&seeds::flavor_groups(clock.now())).unwrap();
        Self { server, clock, limes: FakeLimes::with_projects(projects), ends_stale: false }
    }

    pub fn commitment(&self, uuid: &str) -> Option<CommittedResource> {
        self.server.get(&names::commitment(uuid)).ok()
    }

    /// The writes since the last call, without those of events.
    pub fn take_writes(&self) -> Vec<String> {
        self.server.take_log().into_iter().filter(|line| !line.contains("events/")).collect()
    }

    pub fn amount(&self, uuid: &str) -> Option<String> {
        self.commitment(uuid).map(|object| object.spec.amount.as_str().to_owned())
    }

    pub fn state(&self, uuid: &str) -> Option<CommitmentState> {
        self.commitment(uuid).map(|object| object.spec.state)
    }

    /// A commitment as a change has created it, not yet listed by Limes.
    pub fn create_by_change(&self, uuid: &str, amount: &str) {
        let mut object = testing::commitment(uuid, amount);
        "p-0".clone_into(&mut object.spec.project_id);
        object.metadata.annotations = Some([(labels::NOT_YET_LISTED.to_owned(), String::new())].into());
        self.server.create(&object).unwrap();
    }

    pub fn edit(&self, uuid: &str, patch: &serde_json::Value) {
        self.server.edit::<CommittedResource>(&names::commitment(uuid), patch).unwrap();
    }

    pub fn pause(&self, uuid: &str) {
        self.edit(uuid, &json!({ "metadata": { "annotations": { labels::PAUSED: "" } } }));
    }

    /// A change of this commitment is open.
    pub fn open_change(&self, name: &str, uuid: &str) {
        self.server.create(&testing::commitment_change(name, &[uuid])).unwrap();
    }

    /// It is finished now.
    pub fn finish_change(&self, name: &str) {
        let (now, name) = (self.clock.now(), names::commitment_change(name));
        let finished = condition("Finished", Status::True, "Accepted", "", None, now);
        let status = json!({ "status": {
            "phase": ChangePhase::Accepted, "finishedAt": Time(now), "conditions": [finished] } });
        self.server.edit_status::<CommitmentChange>(&name, &status).unwrap();
    }

    pub fn clock_in_an_hour(&self) -> Timestamp {
        self.clock.now().saturating_add(jiff::SignedDuration::from_hours(1)).unwrap()
    }

    /// The Knowledge object has lost the group, or has it again.
    pub fn set_groups(&self, has_group: bool) {
        let features = if has_group { seeds::group(&[1]) } else { other_group() };
        let status = json!({ "status": { "raw": { "features": features } } });
        self.server.edit_status::<Knowledge>(names::FLAVOR_GROUPS, &status).unwrap();
    }
}

fn other_group() -> serde_json::Value {
    serde_json::from_str(&seeds::group(&[1]).to_string().replace(GROUP, "other")).unwrap()
}

/// One process.
pub struct Process {
    pub stage: Stage,
    pub world: World,
    pub driver: Driver<SyncController>,
    fetcher: Fetcher,
    pub metrics: Metrics,
    pub commitment_requests: Requests<ObjectKey>,
}

impl Process {
    pub fn start(stage: &Stage) -> Self {
        Self::start_ordered(stage, 0)
    }

    /// The order of comparisons is drawn from the seed.
    pub fn start_ordered(stage: &Stage, seed: u64) -> Self {
        let (world, metrics, requests) = (World::new(&stage.server), Metrics::new(&[].into()).unwrap(), opened());
        let commitment_requests = opened();
        let counted = SyncMetrics::register(&metrics).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(stage.clock.clone());
        let controller = SyncController::new(Context {
            commitments: world.writer(&world.stores.commitments),
            changes: world.stores.changes.clone(),
            reservations: world.stores.reservations.clone(),
            routes: Routes::home_only(),
            pauses: world.pauses(),
            disruption_limit: world.disruption_limit(&clock).unwrap(),
            clock: clock.clone(),
            events: events(&world.clusters),
            metrics: counted.clone(),
            requests: requests.clone(),
            commitment_requests: commitment_requests.clone(),
            settings: Settings { quiet_period: QUIET, ends_stale: stage.ends_stale },
        });
        let driver = Driver::start(&world, controller, requests).unwrap().in_random_order(seed);
        let fetcher = Fetcher::new(
            FetcherParts {
                limes: Arc::new(stage.limes.clone()),
                views: driver.controller.views().clone(),
                recent: driver.controller.recent().clone(),
                requests: driver.requests.clone(),
                commitments: world.stores.commitments.clone(),
                routes: Routes::home_only(),
                groups: FlavorGroupsCache::new(world.stores.knowledges.clone()),
                ram_units: Arc::new(|_: &GroupName| RamUnit::new(1).ok()),
                clock,
                metrics: counted,
                services: ["compute".to_owned()].into(),
                interval: HOUR,
                requests_per_second: 20,
                requests_in_flight: 16,
            },
            Box::new(|| u32::MAX / 2),
        );
        Self { stage: stage.clone(), world, driver, fetcher, metrics, commitment_requests }
    }

    /// Without the controller: only the runs count.
    pub fn into_fetcher(self) -> Fetcher {
        self.fetcher
    }

    /// One run, after which everything is compared. Whether the run has failed.
    pub async fn sync(&mut self) -> bool {
        self.world.deliver().unwrap();
        // What was delivered has happened before the run.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let has_failed = self.fetcher.run_once().await;
        self.driver.settle().await;
        has_failed
    }

    /// The same, with one comparison after the other in the order of the keys: for many of them.
    pub async fn sync_in_order(&mut self) {
        self.world.deliver().unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!self.fetcher.run_once().await);
        while let Some(key) = next(&self.driver.requests) {
            self.driver.controller.reconcile(key).await.unwrap();
        }
    }

    /// So many runs, an interval after each other.
    pub async fn sync_times(&mut self, times: usize) {
        for _ in 0..times {
            self.sync().await;
            self.wait(HOUR).await;
        }
    }

    pub async fn wait(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Compares again what could not be compared, as a timer would.
    pub async fn retry(&mut self) {
        self.driver.requests.add(self.driver.controller.views().pending_uuids().into_iter().map(SyncKey));
        self.driver.settle().await;
    }

    /// The value of a series of whole numbers.
    pub fn metric(&self, series: &str) -> i64 {
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().unwrap()
    }
}

fn events(clusters: &Clusters) -> Events {
    let all = ClusterMetrics::register(&Metrics::new(&[].into()).unwrap()).unwrap();
    let (events, publishing) = Events::new(clusters, None, all.events, CancellationToken::new());
    tokio::spawn(publishing);
    events
}

pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}
