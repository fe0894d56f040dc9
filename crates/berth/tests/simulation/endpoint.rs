//! The endpoint for Nova of every process, without sockets: who is reached at which address, and what it has booked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use berth::assembly::{Deciding, Environment, Memory, Nova};
use berth_cluster::Manager;
use berth_scheduler::{Booking, BuiltIn};
use berth_scheduler_api::server::{Api, ApiLimits, DEADLINE_MS, FORWARDED, Forwarder, PATH, Surroundings, router};
use berth_scheduler_api::{Backend, GuestLookup, Outcome, Role};
use berth_testkit::{Gate, Random};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// So long Nova waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
const MOST: usize = 1 << 20;

/// Who is reached at which address. Clones are the same network.
#[derive(Clone, Default)]
pub struct Network {
    open: Arc<Mutex<BTreeMap<String, Endpoint>>>,
    /// What was booked for each VM last.
    booked: Arc<Mutex<BTreeMap<String, Option<Booking>>>>,
    forwarded: Arc<AtomicU64>,
}

/// Where a process is reached while it lives.
#[derive(Clone)]
pub struct Endpoint {
    router: Router,
    gate: Gate,
    gone: CancellationToken,
}

impl Endpoint {
    /// Nobody is there any more, also for those who wait for an answer.
    pub fn close(&self) {
        self.gone.cancel();
    }

    async fn send(self, request: Request<Body>) -> Option<Response> {
        let answer = self.gate.through(self.router.oneshot(request));
        self.gone.run_until_cancelled(answer).await?.ok()
    }
}

impl Network {
    /// A process answers at an address.
    pub fn open(&self, address: &str, router: Router, gate: &Gate) -> Endpoint {
        let endpoint = Endpoint { router, gate: gate.clone(), gone: CancellationToken::new() };
        self.open.lock().insert(address.to_owned(), endpoint.clone());
        endpoint
    }

    /// Nova asks one of the processes; nothing when nobody answers it.
    pub async fn ask(&self, body: String, random: &mut Random) -> Option<(u16, String)> {
        let endpoint = {
            let open = self.open.lock();
            let alive: Vec<_> = open.values().filter(|endpoint| !endpoint.gone.is_cancelled()).cloned().collect();
            alive.get(random.below(alive.len())).cloned()?
        };
        let request = Request::post(PATH).body(Body::from(body)).unwrap();
        let response = timeout(PATIENCE, endpoint.send(request)).await.ok()??;
        let (head, body) = response.into_parts();
        let text = to_bytes(body, MOST).await.ok()?;
        Some((head.status.as_u16(), String::from_utf8(text.to_vec()).unwrap()))
    }

    /// How many requests a follower sent to the leader and got an answer for.
    pub fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// The slot that was booked for a VM with its last answer.
    pub fn booked(&self, vm: &str) -> Option<Booking> {
        self.booked.lock().get(vm).cloned().flatten()
    }
}

impl Forwarder for Network {
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        body: Bytes,
        _: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response> {
        let endpoint = self.open.lock().get(leader).cloned();
        let request = Request::post(PATH).header(FORWARDED, "1").header(DEADLINE_MS, left.as_millis().to_string());
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

/// The endpoint of a process, as the binary wires it. The work that goes with it is added to the manager.
pub fn endpoint(
    memory: &Memory,
    environment: &Environment<'_>,
    deciding: &Deciding,
    network: &Network,
    chance: Random,
    manager: &mut Manager,
    stop: &CancellationToken,
) -> Router {
    let nova = Nova::new(memory, environment, deciding.clone(), manager, stop);
    let (chance, surroundings) = (Mutex::new(chance), Surroundings::since(memory.began()));
    let surroundings = Surroundings { chance: Arc::new(move || chance.lock().draw()), ..surroundings };
    let noted = Noted { nova, network: network.clone() };
    let api = Api::new(noted, network.clone(), surroundings, ApiLimits::default(), environment.metrics.api.clone());
    router(Arc::new(api))
}

/// The backend of the binary, whose bookings are noted for the laws about them.
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
}
