//! A small process around the service.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use berth_cluster::{ClusterMetrics, Events, FlavorGroupsCache, Pauses, Routes};
use berth_core::GroupName;
use berth_core::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use berth_core::liquid::units::RamUnit;
use berth_crds::commitment_change::{ChangePhase, RollBackCause};
use berth_crds::{CommitmentChange, CommittedResource, testing};
use berth_http::forwarder::Unanswered;
use berth_http::{Forwarder, Role};
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::config;
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Server, World, seeds};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::changes::ChangesUnderWay;
use crate::server::{AnsweredChange, ChangeCall, ChangeHandler as _, LiquidMetrics};
use crate::service::{ChangeService, Context, DryRun, DryRunVerdict, Leading, ProposedSpec, ServedInfo, Settings};

pub(super) const UUID: &str = "3b8f0c52-6f0e-4f6f-9d3a-1f2e3d4c5b6a";
pub(super) const OTHER: &str = "e71f9a60-0c3d-4d2e-b5a4-6f7e8d9c0b1a";
pub(super) const VERSION: i64 = 1_772_439_300;
pub(super) const RAM: &str = "hw_version_mem_v4_ram";

/// What the test decides for the rest of the process.
pub(super) struct Stubs {
    pub(super) role: Mutex<Role>,
    pub(super) searches: AtomicUsize,
    pub(super) version: Mutex<Option<i64>>,
    pub(super) ram_unit_gib: Mutex<u64>,
    pub(super) verdict: Mutex<DryRunVerdict>,
    pub(super) dry_runs: Mutex<Vec<Vec<ProposedSpec>>>,
    /// Path, request id and time left of what was forwarded.
    pub(super) forwarded: Mutex<Vec<(String, HeaderMap, Duration)>>,
    /// The answer of the leader; `None` is none at all.
    pub(super) leader_answer: Mutex<Option<(StatusCode, bool, &'static str)>>,
}

impl Leading for Stubs {
    fn role(&self) -> Role {
        self.role.lock().clone()
    }

    fn find_leader(&self) {
        self.searches.fetch_add(1, Ordering::Relaxed);
    }
}

impl ServedInfo for Stubs {
    fn version(&self) -> Option<i64> {
        *self.version.lock()
    }

    fn ram_unit(&self, _: &GroupName) -> Option<RamUnit> {
        RamUnit::new(*self.ram_unit_gib.lock()).ok()
    }
}

impl DryRun for Stubs {
    fn dry_run<'a>(&'a self, change: Vec<ProposedSpec>, _: &'a str) -> BoxFuture<'a, DryRunVerdict> {
        self.dry_runs.lock().push(change);
        let verdict = self.verdict.lock().clone();
        Box::pin(async move { verdict })
    }
}

impl Forwarder for Stubs {
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        _: Method,
        path: &'a str,
        _: Bytes,
        headers: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response> {
        self.forwarded.lock().push((format!("{leader}{path}"), headers.clone(), left));
        let answer = *self.leader_answer.lock();
        Box::pin(async move {
            let Some((status, is_unanswered, body)) = answer else { std::future::pending().await };
            let mut response = Response::builder().status(status).body(Body::from(body)).unwrap();
            if is_unanswered {
                response.extensions_mut().insert(Unanswered);
            }
            response
        })
    }
}

pub(super) struct Setting {
    pub(super) server: Server,
    pub(super) world: World,
    pub(super) service: Arc<ChangeService>,
    pub(super) stubs: Arc<Stubs>,
    pub(super) under_way: ChangesUnderWay,
    pub(super) metrics: Metrics,
}

/// An answer as a caller sees it.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) answered: Option<AnsweredChange>,
    pub(super) text: String,
}

impl Seen {
    pub(super) fn is(&self, status: u16, text: &str) {
        assert_eq!((self.status, self.text.trim_end()), (status, text));
    }

    pub(super) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }

    /// The reason of a rejection, which may be gone later.
    pub(super) fn reason(&self) -> String {
        let json = self.json();
        assert_eq!(json["retryAt"], "2026-03-01T12:15:00Z", "{json}");
        json["rejectionReason"].as_str().unwrap().to_owned()
    }

    pub(super) fn retry_after(&self) -> Option<&str> {
        self.headers.get("retry-after").map(|value| value.to_str().unwrap())
    }
}

pub(super) fn setting() -> Setting {
    with(
        Settings::default(),
        config::Pause::default(),
        Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap())),
    )
}

pub(super) fn with(settings: Settings, pause: config::Pause, clock: Arc<dyn Clock>) -> Setting {
    let server = Server::new(clock.clone());
    server.create(&seeds::flavor_groups(clock.now())).unwrap();
    server.create(&seeds::host("host-1", 4)).unwrap();
    let world = World::new(&server);
    world.list().unwrap();
    let stubs = Arc::new(Stubs {
        role: Mutex::new(Role::Leader),
        searches: AtomicUsize::default(),
        version: Mutex::new(Some(VERSION)),
        ram_unit_gib: Mutex::new(480),
        verdict: Mutex::new(DryRunVerdict::Fits),
        dry_runs: Mutex::default(),
        forwarded: Mutex::default(),
        leader_answer: Mutex::new(Some((StatusCode::OK, false, "from the leader\n"))),
    });
    let metrics = Metrics::new(&BTreeMap::new()).unwrap();
    let counted = ClusterMetrics::register(&metrics).unwrap().events;
    let (events, publishing) = Events::new(&world.clusters, None, counted, CancellationToken::new());
    tokio::spawn(publishing);
    let (stores, under_way) = (&world.stores, ChangesUnderWay::default());
    let context = Context {
        leading: stubs.clone(),
        forwarder: stubs.clone(),
        info: stubs.clone(),
        dry_run: stubs.clone(),
        flavor_groups: FlavorGroupsCache::new(stores.knowledges.clone()),
        resources: resources(),
        commitments: stores.commitments.clone(),
        reservations: stores.reservations.clone(),
        hypervisors: stores.hypervisors.clone(),
        changes: world.writer(&stores.changes),
        under_way: under_way.clone(),
        routes: Routes::home_only(),
        pauses: Pauses::new(pause, stores.commitments.clone(), stores.reservations.clone()),
        clock,
        events,
        ids: FreshIds::counted(),
        metrics: LiquidMetrics::register(&metrics).unwrap(),
        settings,
    };
    Setting { service: Arc::new(ChangeService::new(context)), server, world, stubs, under_way, metrics }
}

fn resources() -> ResourceConfig {
    let flags = ResourceFlags { handles_commitments: true, handles_dry_run: true, ..ResourceFlags::default() };
    let group = GroupResources { ram: flags, cores: flags, ram_unit_gib: 1, ..GroupResources::default() };
    [("*".into(), group)].into_iter().collect()
}

/// A request for these commitments, which needs confirmation if the totals differ.
pub(super) fn body(totals: (u64, u64), commitments: &Value) -> Value {
    json!({
        "az": testing::ZONE, "dryRun": false, "infoVersion": VERSION,
        "byProject": { testing::PROJECT: {
            "projectMetadata": { "uuid": testing::PROJECT, "name": "p", "domain": { "uuid": testing::DOMAIN, "name": "d" } },
            "byResource": { RAM: {
                "totalConfirmedBefore": totals.0, "totalConfirmedAfter": totals.1,
                "totalGuaranteedBefore": 0, "totalGuaranteedAfter": 0,
                "commitments": commitments,
            } },
        } },
    })
}

/// A new commitment of two units that must be confirmed.
pub(super) fn sale() -> Value {
    body((0, 2), &json!([{ "uuid": UUID, "oldStatus": null, "newStatus": "confirmed", "amount": 2 }]))
}

/// The same, pending, which needs no confirmation.
pub(super) fn announcement() -> Value {
    body((0, 0), &json!([{ "uuid": UUID, "oldStatus": null, "newStatus": "pending", "amount": 2 }]))
}

/// The deletion of a stored commitment of one unit, which needs no confirmation.
pub(super) fn deletion() -> Value {
    body((1, 0), &json!([{ "uuid": UUID, "oldStatus": "confirmed", "newStatus": null, "amount": 1 }]))
}

pub(super) fn as_dry_run(mut request: Value) -> Value {
    request["dryRun"] = true.into();
    request
}

impl Setting {
    pub(super) async fn ask(&self, body: &Value) -> Seen {
        self.send(body.to_string(), HeaderMap::new()).await
    }

    pub(super) async fn send(&self, body: impl Into<Bytes>, headers: HeaderMap) -> Seen {
        seen(self.service.change(call(body, headers)).await).await
    }

    /// Asks in a task of its own, as for a connection.
    pub(super) fn begin(&self, body: &Value) -> JoinHandle<Seen> {
        let (service, call) = (self.service.clone(), call(body.to_string(), HeaderMap::new()));
        tokio::spawn(async move { seen(service.change(call).await).await })
    }

    /// The stored commitment.
    pub(super) fn store_commitment(&self, object: &CommittedResource) {
        self.server.create(object).unwrap();
        self.world.deliver().unwrap();
    }

    /// Waits until so many changes were created; the last one.
    pub(super) async fn created(&self, count: usize) -> CommitmentChange {
        for _ in 0..100 {
            let mut all = self.changes();
            if all.len() >= count {
                all.sort_by_key(|change| change.metadata.name.clone());
                return all.remove(count - 1);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("no change was created");
    }

    pub(super) fn changes(&self) -> Vec<CommitmentChange> {
        self.server.all().unwrap()
    }

    /// The controller has brought the change into this phase.
    pub(super) fn show(&self, change: &CommitmentChange, phase: ChangePhase) {
        let is_finished = phase == ChangePhase::Accepted;
        self.show_status(change, &json!({ "phase": phase.as_str() }), is_finished, "waiting");
    }

    /// The controller has accepted the change and is not done with it.
    pub(super) fn show_accepted(&self, change: &CommitmentChange) {
        self.show_status(change, &json!({ "phase": ChangePhase::Accepted.as_str() }), false, "accepted");
    }

    /// The controller undoes the change, or has undone it.
    pub(super) fn show_undone(&self, change: &CommitmentChange, is_undone: bool, cause: RollBackCause, message: &str) {
        let phase = if is_undone { ChangePhase::RolledBack } else { ChangePhase::RollingBack };
        let outcome = if cause == RollBackCause::Rejected { "rejected" } else { "waiting" };
        let status = json!({ "phase": phase.as_str(), "rollBackCause": cause, "message": message });
        self.show_status(change, &status, is_undone, outcome);
    }

    fn show_status(&self, change: &CommitmentChange, status: &Value, is_finished: bool, outcome: &str) {
        let item = |uuid: &str| json!({ "commitmentUUID": uuid, "step": "written", "outcome": outcome });
        let items: Vec<_> = change.spec.items.iter().map(|one| item(&one.commitment_uuid)).collect();
        let mut status = status.clone();
        status["items"] = json!(items);
        status["conditions"] = json!([{
            "type": "Finished", "status": if is_finished { "True" } else { "False" }, "reason": "Any", "message": "",
            "lastTransitionTime": "2026-03-01T12:00:00Z",
        }]);
        let name = change.metadata.name.as_deref().unwrap();
        self.server.edit_status::<CommitmentChange>(name, &json!({ "status": status })).unwrap();
        self.world.deliver().unwrap();
    }

    pub(super) fn abandoned(&self, change: &CommitmentChange) -> bool {
        format!("{:?}", self.under_way).contains(&format!("{:?}", change.metadata.name.as_deref().unwrap()))
            && format!("{:?}", self.under_way).contains("is_abandoned: true")
    }

    pub(super) fn counts(&self, line: &str) -> bool {
        self.metrics.render().lines().any(|found| found == line)
    }
}

fn call(body: impl Into<Bytes>, headers: HeaderMap) -> ChangeCall {
    ChangeCall { body: body.into(), headers, request_id: "9f31c0de-77aa".to_owned() }
}

async fn seen(response: Response) -> Seen {
    let (head, body) = response.into_parts();
    let text = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
    let answered = head.extensions.get().copied();
    Seen { status: head.status.as_u16(), headers: head.headers, answered, text }
}
