//! A small cloud behind the router of the Placement API, in memory, for the properties of queries, bodies and heads: a
//! host with two NUMA nodes, a full host, a disk that both share, and one consumer. Each run has its own copy, so that
//! failures can be reproduced.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use berth_openstack::authentication::NoAuth2;
use berth_placement::protocol::cors::Cors;
use berth_placement::{Api, GenerationOptions, policy};
use berth_placement_model::testing::{MemoryState, invariants};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

use super::in_memory::InMemory;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());
static START: LazyLock<MemoryState> = LazyLock::new(start);

const MADE: [(&str, &str); 15] = [
    ("PUT /traits/CUSTOM_A", ""),
    ("PUT /resource_classes/CUSTOM_A", ""),
    ("POST /resource_providers", r#"{"name": "a", "uuid": "00000000-0000-4000-8000-00000000000a"}"#),
    (
        "POST /resource_providers",
        r#"{"name": "a1", "uuid": "00000000-0000-4000-8000-0000000000a1", "parent_provider_uuid": "00000000-0000-4000-8000-00000000000a"}"#,
    ),
    (
        "POST /resource_providers",
        r#"{"name": "a2", "uuid": "00000000-0000-4000-8000-0000000000a2", "parent_provider_uuid": "00000000-0000-4000-8000-00000000000a"}"#,
    ),
    ("POST /resource_providers", r#"{"name": "b", "uuid": "00000000-0000-4000-8000-00000000000b"}"#),
    ("POST /resource_providers", r#"{"name": "d", "uuid": "00000000-0000-4000-8000-00000000000d"}"#),
    (
        "PUT /resource_providers/00000000-0000-4000-8000-00000000000a/inventories",
        r#"{"resource_provider_generation": 0, "inventories": {"MEMORY_MB": {"total": 4096, "reserved": 512}}}"#,
    ),
    (
        "PUT /resource_providers/00000000-0000-4000-8000-0000000000a1/inventories",
        r#"{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8, "allocation_ratio": 2.0}, "CUSTOM_A": {"total": 1}}}"#,
    ),
    (
        "PUT /resource_providers/00000000-0000-4000-8000-0000000000a2/inventories",
        r#"{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8, "max_unit": 4, "step_size": 2}}}"#,
    ),
    (
        "PUT /resource_providers/00000000-0000-4000-8000-00000000000b/inventories",
        r#"{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 2}, "MEMORY_MB": {"total": 4096}, "DISK_GB": {"total": 10}}}"#,
    ),
    (
        "PUT /resource_providers/00000000-0000-4000-8000-00000000000d/inventories",
        r#"{"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 100, "min_unit": 5}}}"#,
    ),
    (
        "PUT /resource_providers/00000000-0000-4000-8000-00000000000d/traits",
        r#"{"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE", "CUSTOM_A"]}"#,
    ),
    (
        "PUT /resource_providers/00000000-0000-4000-8000-0000000000a1/traits",
        r#"{"resource_provider_generation": 1, "traits": ["HW_NUMA_ROOT"]}"#,
    ),
    (
        "PUT /allocations/00000000-0000-4000-8000-00000000000c",
        r#"{"allocations": {"00000000-0000-4000-8000-00000000000b": {"resources": {"VCPU": 2}}}, "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}"#,
    ),
];
/// The members of the disk's aggregate.
const MEMBERS: [char; 3] = ['a', 'b', 'd'];

/// The cloud of one run.
pub struct World {
    pub ledger: Arc<InMemory>,
    pub router: Router,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

pub fn site() -> Option<Cors> {
    Cors::new(vec!["http://valid.example.com".to_owned()], &["openstack-api-version".to_owned()])
}

impl World {
    pub fn new() -> Self {
        Self::of(START.clone())
    }

    fn of(state: MemoryState) -> Self {
        let ledger = Arc::new(InMemory { state: Mutex::new(state), ..InMemory::default() });
        let generation =
            GenerationOptions { most_combinations: 20_000, most_requests: 2_000, ..GenerationOptions::default() };
        let api = Api::new(ledger.clone(), Arc::new(NoAuth2), policy::defaults(false));
        Self { router: api.with_cors(site()).with_generation(generation).router(), ledger }
    }

    /// Sends a request, and checks the ledger.
    pub fn ask(&self, request: Request<Body>) -> Answer {
        let before = self.ledger.state.lock().clone();
        let wants_body = request.method() != Method::HEAD;
        let answer = RUNTIME.block_on(async {
            let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
            Answer { status: parts.status, headers: parts.headers, body }
        });
        answer.is_sound(wants_body);
        let after = self.ledger.state.lock().clone();
        if answer.status.is_success() {
            assert_eq!(
                [invariants::violations(&after), invariants::violations_of_change(&before, &after)],
                [[""; 0]; 2]
            );
        } else {
            assert!(before == after, "a refused request has changed something");
        }
        answer
    }
}

impl Answer {
    fn is_sound(&self, wants_body: bool) {
        let text = String::from_utf8_lossy(&self.body);
        let complex = self.status == 503 && text.contains("query too complex");
        assert!(self.status.as_u16() < 500 || complex, "{} {text}", self.status);
        assert!(self.headers.contains_key("x-openstack-request-id"));
        if !wants_body {
            assert!(self.body.is_empty(), "{text}");
        } else if self.headers.get("content-type").is_some_and(|kind| kind == "application/json") {
            let json: Value = serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {text}"));
            if !self.status.is_success() {
                assert_eq!(json["errors"][0]["status"], self.status.as_u16(), "{text}");
            }
        }
    }
}

fn start() -> MemoryState {
    let world = World::of(MemoryState::default());
    let done = |line: &str, version: &str, body: &str| {
        let (method, path) = line.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(path).header("openstack-api-version", version);
        let request = request.header("x-auth-token", "admin").header("content-type", "application/json");
        let answer = world.ask(request.body(Body::from(body.to_owned())).unwrap());
        assert!(answer.status.is_success(), "{line}: {}", String::from_utf8_lossy(&answer.body));
    };
    for (line, body) in MADE {
        done(line, "placement latest", body);
    }
    for member in MEMBERS {
        let path = format!("PUT /resource_providers/00000000-0000-4000-8000-00000000000{member}/aggregates");
        done(&path, "placement 1.1", r#"["00000000-0000-4000-8000-0000000000ff"]"#);
    }
    world.ledger.state.lock().clone()
}
