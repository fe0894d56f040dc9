//! The endpoints for Nova of all processes, without sockets: which process is reached at which address, and what it has
//! booked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use berth::wiring::{ClaimRestorer, DecidingState, Environment, Memory, Nova};
use berth_cluster::Manager;
use berth_scheduler::{Booking, BuiltIn};
use berth_scheduler_api::server::{Api, ApiLimits, DEADLINE_MS, FORWARDED, Forwarder, PATH, TimeAndRandom, router};
use berth_scheduler_api::{Backend, GuestLookup, Outcome, Role};
use berth_testkit::{ProcessPause, Random};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// The timeout of Nova.
const TIMEOUT: Duration = Duration::from_secs(30);
const MOST: usize = 1 << 20;

/// The processes by address. Clones share the network.
#[derive(Clone, Default)]
pub struct Network {
    open: Arc<Mutex<BTreeMap<String, Endpoint>>>,
    booked: Arc<Mutex<BTreeMap<String, Option<Booking>>>>,
    forwarded: Arc<AtomicU64>,
}

/// The address of a process while it runs.
#[derive(Clone)]
pub struct Endpoint {
    router: Router,
    process_pause: ProcessPause,
    gone: CancellationToken,
}

impl Endpoint {
    /// Disconnects the process; clients that wait for an answer get none.
    pub fn close(&self) {
        self.gone.cancel();
    }

    async fn send(self, request: Request<Body>) -> Option<Response> {
        let answer = self.process_pause.run(self.router.oneshot(request));
        self.gone.run_until_cancelled(answer).await?.ok()
    }
}

impl Network {
    pub fn open(&self, address: &str, router: Router, process_pause: &ProcessPause) -> Endpoint {
        let endpoint = Endpoint { router, process_pause: process_pause.clone(), gone: CancellationToken::new() };
        self.open.lock().insert(address.to_owned(), endpoint.clone());
        endpoint
    }

    /// Sends a request of Nova to one of the processes; `None` without an answer.
    pub async fn ask(&self, body: String, random: &mut Random) -> Option<(u16, String)> {
        let endpoint = {
            let open = self.open.lock();
            let alive: Vec<_> = open.values().filter(|endpoint| !endpoint.gone.is_cancelled()).cloned().collect();
            alive.get(random.below(alive.len())).cloned()?
        };
        let request = Request::post(PATH).body(Body::from(body)).unwrap();
        let response = timeout(TIMEOUT, endpoint.send(request)).await.ok()??;
        let (head, body) = response.into_parts();
        let text = to_bytes(body, MOST).await.ok()?;
        Some((head.status.as_u16(), String::from_utf8(text.to_vec()).unwrap()))
    }

    /// The number of requests that a follower forwarded to the leader and got an answer for.
    pub fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// The slot that the last answer booked for a VM.
    pub fn booked(&self, vm: &str) -> Option<Booking> {
        self.booked.lock().get(vm).cloned().flatten()
    }
}

impl Forwarder for Network {
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        method: Method,
        path: &'a str,
        body: Bytes,
        _: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response> {
        let endpoint = self.open.lock().get(leader).cloned();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(FORWARDED, "1")
            .header(DEADLINE_MS, left.as_millis().to_string());
        let request = request.body(Body::from(body)).unwrap();
        Box::pin(async move {
            let sent = async { endpoint?.send(request).await };
            let answer = timeout(left, sent).await.ok().flatten();
            self.forwarded.fetch_add(u64::from(answer.is_some()), Ordering::Relaxed);
            answer.unwrap_or_else(|| {
                Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).body(Body::empty()).unwrap()
            })
        })
    }
}

/// The endpoint of a process, wired as in the binary. Its background tasks are added to the manager.
pub fn endpoint(
    memory: &Memory,
    environment: &Environment<'_>,
    deciding: &DecidingState,
    network: &Network,
    chance: Random,
    manager: &mut Manager,
    stop: &CancellationToken,
) -> (Router, ClaimRestorer) {
    let nova = Nova::new(memory, environment, deciding.clone(), manager, stop);
    let restorer = nova.restorer();
    let surroundings = TimeAndRandom::since(memory.started_at(), environment.clock.clone());
    let chance = Mutex::new(chance);
    let surroundings = TimeAndRandom { chance: Arc::new(move || chance.lock().draw()), ..surroundings };
    let noted = Noted { nova, network: network.clone() };
    let api = Api::new(noted, network.clone(), surroundings, ApiLimits::default(), environment.metrics.api.clone());
    (router(Arc::new(api)), restorer)
}

/// The backend of the binary, which records bookings for the invariants about them.
struct Noted {
    nova: Nova,
    network: Network,
}

impl Backend for Noted {
    fn scheduler(&self) -> &Arc<BuiltIn> {
        self.nova.scheduler()
    }

    fn role(&self) -> Role {
        self.nova.role()
    }

    fn find_leader(&self) {
        self.nova.find_leader();
    }

    fn not_ready(&self) -> Option<String> {
        self.nova.not_ready()
    }

    fn guest(&self, request: &berth_scheduler::Request) -> GuestLookup {
        self.nova.guest(request)
    }

    fn remembers(&self, request: &berth_scheduler::Request) -> bool {
        self.nova.remembers(request)
    }

    fn decided(&self, outcome: Outcome) {
        if let Ok(answer) = &outcome.result {
            let vm = outcome.request.instance.to_string();
            self.network.booked.lock().insert(vm, answer.booking.clone());
        }
        self.nova.decided(outcome);
    }

    async fn keep_claim(&self) {
        self.nova.keep_claim().await;
    }
}
