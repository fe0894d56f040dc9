//! A scheduler behind HTTP: our own server on a socket, over a view that gets the same objects as that of the client.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_scheduler::{BuiltIn, Request};
use berth_scheduler_api::metrics::ApiMetrics;
use berth_scheduler_api::server::{Api, ApiLimits, PATH, TimeAndRandom, router};
use berth_scheduler_api::{Backend, Forward, GuestLookup, Outcome, Role};
use berth_telemetry::clock::Clock;
use berth_telemetry::config::{Token, decode};
use berth_telemetry::metrics::Metrics;
use jiff::Timestamp;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub fn token() -> Token {
    let values = json!({"scheduler": {"token": "c0ntract"}});
    let loaded = decode(values.as_object().unwrap(), true).unwrap();
    loaded.configuration.scheduler.token.unwrap()
}

pub struct Server {
    scheduler: Arc<BuiltIn>,
    address: SocketAddr,
    has_decided: Arc<AtomicBool>,
}

/// A clock that stands still.
struct AtEpoch;

impl Clock for AtEpoch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Server {
    /// Starts a server that requires [`token`].
    pub async fn start(scheduler: Arc<BuiltIn>, role: Role) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let has_decided = Arc::new(AtomicBool::new(false));
        let process = Process { scheduler: scheduler.clone(), role, has_decided: has_decided.clone() };
        let surroundings =
            TimeAndRandom { now: Arc::new(|| Duration::ZERO), clock: Arc::new(AtEpoch), chance: Arc::new(|| 0) };
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        let forward = Forward::new("follower", None).unwrap();
        let counted = ApiMetrics::register(&metrics, process.scheduler()).unwrap();
        let api = Api::new(process, forward, surroundings, ApiLimits::default(), counted);
        let api = api.with_tokens(Some(watch::channel(token().into()).1));
        tokio::spawn(async move { axum::serve(listener, router(Arc::new(api))).await.unwrap() });
        Self { scheduler, address, has_decided }
    }

    pub fn scheduler(&self) -> &BuiltIn {
        &self.scheduler
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn url(&self) -> String {
        format!("{}{PATH}", self.base())
    }

    /// Whether it has made a decision that changes something.
    pub fn has_decided(&self) -> bool {
        self.has_decided.load(Ordering::Relaxed)
    }
}

struct Process {
    scheduler: Arc<BuiltIn>,
    role: Role,
    has_decided: Arc<AtomicBool>,
}

impl Backend for Process {
    fn scheduler(&self) -> &Arc<BuiltIn> {
        &self.scheduler
    }

    fn role(&self) -> Role {
        self.role.clone()
    }

    fn find_leader(&self) {}

    fn not_ready(&self) -> Option<String> {
        None
    }

    fn guest(&self, _: &Request) -> GuestLookup {
        Ok(None)
    }

    fn remembers(&self, request: &Request) -> bool {
        !request.options.read_only
    }

    fn decided(&self, outcome: Outcome) {
        self.has_decided.fetch_or(!outcome.request.options.read_only, Ordering::Relaxed);
    }

    async fn keep_claim(&self) {}
}
