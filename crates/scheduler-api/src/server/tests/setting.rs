//! A small process around the endpoint: hosts, roles, and a leader on another replica.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use berth_core::testing::host;
use berth_core::{Bytes as Memory, Cores, Resources};
use berth_scheduler::{AnswerSettings, BuiltIn, Param, PipelineSpec, Settings, StepSpec, TieBreak};
use berth_telemetry::clock::SystemClock;
use berth_telemetry::metrics::Metrics;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::metrics::ApiMetrics;
use crate::server::{Api, ApiLimits, Forwarder, PATH, TimeAndRandom, TokensInForce, Unanswered, router};
use crate::{Backend, GuestLookup, Outcome, Role};

/// The rest of the process.
pub(super) struct Process {
    scheduler: Arc<BuiltIn>,
    pub(super) role: Mutex<Role>,
    /// How often the server asked who leads.
    pub(super) leader_searches: AtomicUsize,
    pub(super) not_ready: Mutex<Option<String>>,
    pub(super) outcomes: Mutex<Vec<Outcome>>,
    pub(super) kept: AtomicUsize,
}

impl Backend for Process {
    fn scheduler(&self) -> &Arc<BuiltIn> {
        &self.scheduler
    }

    fn role(&self) -> Role {
        self.role.lock().clone()
    }

    fn find_leader(&self) {
        self.leader_searches.fetch_add(1, Ordering::Relaxed);
    }

    fn not_ready(&self) -> Option<String> {
        self.not_ready.lock().clone()
    }

    fn guest(&self, _: &berth_scheduler::Request) -> GuestLookup {
        Ok(None)
    }

    fn remembers(&self, request: &berth_scheduler::Request) -> bool {
        !request.options.read_only
    }

    fn decided(&self, outcome: Outcome) {
        self.outcomes.lock().push(outcome);
    }

    async fn keep_claim(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }
}

/// The forwarded requests: address, body, and remaining time.
pub(super) type Forwarded = Arc<Mutex<Vec<(String, Bytes, Duration)>>>;

/// The answer of a process that does not lead any more.
pub(super) const UNANSWERED: &str = "gone\n";

/// A leader on another replica that gives this answer, or never answers.
pub(super) struct Elsewhere(pub(super) Option<(StatusCode, &'static str)>, pub(super) Forwarded);

impl Forwarder for Elsewhere {
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        _: Method,
        _: &'a str,
        body: Bytes,
        _: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response> {
        self.1.lock().push((leader.to_owned(), body, left));
        Box::pin(async move {
            let Some((status, text)) = self.0 else { std::future::pending().await };
            let mut response = Response::builder().status(status).body(Body::from(text)).unwrap();
            if text == UNANSWERED {
                response.extensions_mut().insert(Unanswered);
            }
            response
        })
    }
}

pub(super) struct Setting {
    pub(super) api: Arc<Api<Process>>,
    pub(super) metrics: Metrics,
    pub(super) forwarded: Forwarded,
}

/// A leader with hosts a (8 cores, 64 GiB), b (16, 128) and c (32, 256).
pub(super) fn setting() -> Setting {
    with(ApiLimits::default(), Some((StatusCode::OK, "{\"hosts\":[\"elsewhere\"]}\n")))
}

pub(super) fn with_answers(answers: AnswerSettings) -> Setting {
    made(ApiLimits::default(), None, answers)
}

pub(super) fn with(limits: ApiLimits, leader: Option<(StatusCode, &'static str)>) -> Setting {
    made(limits, leader, AnswerSettings::default())
}

fn made(limits: ApiLimits, leader: Option<(StatusCode, &'static str)>, answers: AnswerSettings) -> Setting {
    let metrics = Metrics::new(&BTreeMap::new()).unwrap();
    let process = Process {
        scheduler: Arc::new(scheduler(answers)),
        role: Mutex::new(Role::Leader),
        leader_searches: AtomicUsize::default(),
        not_ready: Mutex::default(),
        outcomes: Mutex::default(),
        kept: AtomicUsize::default(),
    };
    let forwarded = Forwarded::default();
    let (elsewhere, surroundings) =
        (Elsewhere(leader, forwarded.clone()), TimeAndRandom::since(Instant::now(), Arc::new(SystemClock)));
    let counted = ApiMetrics::register(&metrics, process.scheduler()).unwrap();
    let api = Api::new(process, elsewhere, surroundings, limits, counted);
    Setting { api: Arc::new(api), metrics, forwarded }
}

/// Besides the shipped pipelines: `listed` takes the hosts of the request, `gathering` all, `capacity` those of the
/// request that have free capacity.
fn scheduler(answers: AnswerSettings) -> BuiltIn {
    let mut settings = Settings { tie_break: TieBreak::Name, answers, ..Settings::default() };
    let capacity = || vec![StepSpec::new("filter_has_enough_capacity")];
    for (name, ignore_preselection, filters) in
        [("listed", false, Vec::new()), ("gathering", true, Vec::new()), ("capacity", false, capacity())]
    {
        let spec = PipelineSpec { name: name.to_owned(), ignore_preselection, filters, ..PipelineSpec::default() };
        settings.pipelines.insert(berth_scheduler::Pipeline::load(&spec).pipeline.unwrap());
    }
    settings.pipelines.insert(berth_scheduler::Pipeline::load(&reversed()).pipeline.unwrap());
    let scheduler = BuiltIn::new(settings, Box::new(|_| {}));
    for (name, cores) in [("a", 8), ("b", 16), ("c", 32)] {
        let capacity = Resources::new(Memory::new(cores << 33), Cores::new(cores));
        scheduler.host_changed(&name.into(), Some(host(name, capacity)));
    }
    scheduler
}

fn reversed() -> PipelineSpec {
    let memory = BTreeMap::from([("memory".to_owned(), 1.0)]);
    let by_memory = Param { key: "resourceWeights".to_owned(), float_map_value: Some(memory), ..Param::default() };
    PipelineSpec {
        name: "reversed".to_owned(),
        ignore_preselection: true,
        filters: Vec::new(),
        weighers: vec![StepSpec::new("kvm_prefer_smaller_hosts").with(by_memory).times(-1.0)],
    }
}

/// A request for a small VM on a, b and c, without an intent, as Nova sends it.
pub(super) fn body(pipeline: &str) -> Value {
    let wrapped = |data: Value| json!({"nova_object.name": "X", "nova_object.data": data});
    json!({
        "spec": wrapped(json!({
            "instance_uuid": "vm-1", "project_id": "p", "availability_zone": "", "num_instances": 1,
            "scheduler_hints": {},
            "flavor": wrapped(json!({"name": "m", "memory_mb": 1024, "vcpus": 1,
                "extra_specs": {"capabilities:hypervisor_type": "CH"}})),
        })),
        "context": {"user": "u", "project_id": "p", "request_id": "r", "global_request_id": null},
        "hosts": [{"host": "a"}, {"host": "b"}, {"host": "c"}],
        "weights": {"a": 3, "b": 2, "c": 1},
        "pipeline": pipeline,
        "rebuild": false, "resize": false, "live": false, "vmware": false,
    })
}

pub(super) fn spec(body: &mut Value) -> &mut Value {
    &mut body["spec"]["nova_object.data"]
}

pub(super) fn extra_specs(body: &mut Value) -> &mut Value {
    &mut spec(body)["flavor"]["nova_object.data"]["extra_specs"]
}

/// The options of a run that changes nothing.
pub(super) fn read_only() -> Value {
    json!({"read_only": true, "skip_history": true, "skip_inflight": true, "skip_committed_resource_tracking": true})
}

/// An answer as a client sees it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn is(&self, status: u16, text: &str) {
        assert_eq!((self.status, self.text.as_str()), (status, text));
    }
}

impl Setting {
    /// Like this setting, with required tokens.
    pub(super) fn protected_by(self, tokens: TokensInForce) -> Self {
        let Ok(api) = Arc::try_unwrap(self.api) else { panic!("shared") };
        Self { api: Arc::new(api.with_tokens(Some(tokens))), ..self }
    }

    pub(super) async fn post(&self, body: impl ToString) -> Seen {
        self.send(Request::post(PATH).body(Body::from(body.to_string())).unwrap()).await
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Seen {
        let response = router(self.api.clone()).oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let text = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
        Seen { status: head.status.as_u16(), headers: head.headers, text }
    }

    pub(super) fn follow(&self, leader: Option<&str>) {
        *self.api.backend().role.lock() = Role::Follower { leader: leader.map(str::to_owned) };
    }

    pub(super) fn lead(&self) {
        *self.api.backend().role.lock() = Role::Leader;
    }

    /// Whether the metrics have a line with this prefix.
    pub(super) fn counts(&self, beginning: &str) -> bool {
        self.metrics.render().lines().any(|line| line.starts_with(beginning))
    }
}
