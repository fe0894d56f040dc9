//! A double of Limes on loopback: the commitments of each project, with faults. It counts and times the requests.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// What every listed commitment has and no client may keep.
pub const TRANSFER_TOKEN: &str = "token-of-a-transfer";

/// A Limes that ends when it is dropped.
pub struct Limes {
    address: SocketAddr,
    state: Arc<Mutex<Known>>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Known {
    /// The commitments of each project.
    projects: BTreeMap<String, Vec<Value>>,
    faults: BTreeMap<String, LimesFault>,
    requests: Vec<(String, Instant)>,
    under_way: usize,
    most_under_way: usize,
}

/// What happens to the requests about one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimesFault {
    Status(u16),
    /// So many requests get 503 with this `Retry-After`.
    Busy {
        times: usize,
        retry_after: u64,
    },
    /// The answer comes after this time.
    Slow(Duration),
    /// The answer does not come.
    Silence,
    /// An answer with status 200 that is no JSON.
    Garbage,
    /// An answer with status 200 of which the second half is missing.
    Half,
    /// The commitments of another project.
    Other(String),
}

type Shared = Arc<Mutex<Known>>;

impl Limes {
    /// Listens on a free port.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Shared::default();
        let router = Router::new()
            .route("/v1/domains/{domain}/projects/{project}/commitments", get(list_commitments))
            .with_state(state.clone());
        let serving = tokio::spawn(async move {
            // Ends with the task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, state, serving })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The project has exactly these commitments.
    pub fn set(&self, project: &str, commitments: Vec<Value>) {
        self.state.lock().projects.insert(project.to_owned(), commitments);
    }

    pub fn set_fault(&self, project: &str, fault: Option<LimesFault>) {
        let mut known = self.state.lock();
        match fault {
            Some(fault) => known.faults.insert(project.to_owned(), fault),
            None => known.faults.remove(project),
        };
    }

    /// The paths of all requests, and when they came.
    pub fn requests(&self) -> Vec<(String, Instant)> {
        self.state.lock().requests.clone()
    }

    pub fn count_requests(&self) -> usize {
        self.state.lock().requests.len()
    }

    /// How many requests were under way at the same time.
    pub fn most_under_way(&self) -> usize {
        self.state.lock().most_under_way
    }
}

impl Drop for Limes {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A confirmed commitment of memory without an end, as Limes lists it.
pub fn commitment(uuid: &str, group: &str, zone: &str, amount: u64) -> Value {
    json!({
        "id": 1, "uuid": uuid, "service_type": "compute", "resource_name": format!("hw_version_{group}_ram"),
        "availability_zone": zone, "amount": amount, "unit": "GiB", "duration": "2 years",
        "created_at": 1_767_225_600, "confirmed_at": 1_772_323_200, "status": "confirmed", "notify_on_confirm": false,
        "can_be_deleted": true, "transfer_status": "unlisted", "transfer_token": TRANSFER_TOKEN,
    })
}

/// A request that is under way.
struct UnderWay(Shared);

impl UnderWay {
    fn begin(state: &Shared, path: String) -> Self {
        let mut known = state.lock();
        known.requests.push((path, Instant::now()));
        known.under_way += 1;
        known.most_under_way = known.most_under_way.max(known.under_way);
        Self(state.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
    }
}

async fn list_commitments(
    State(state): State<Shared>,
    Path((domain, project)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let _under_way = UnderWay::begin(&state, format!("/v1/domains/{domain}/projects/{project}/commitments"));
    if !headers.contains_key("x-auth-token") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let fault = state.lock().faults.get(&project).cloned();
    match fault {
        Some(LimesFault::Status(status)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, "limes cannot say").into_response()
        }
        Some(LimesFault::Busy { times, retry_after }) if times > 0 => {
            let fault = LimesFault::Busy { times: times - 1, retry_after };
            state.lock().faults.insert(project, fault);
            (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", retry_after.to_string())], "busy").into_response()
        }
        Some(LimesFault::Slow(time)) => {
            sleep(time).await;
            answer(&body_of(&state, &project))
        }
        Some(LimesFault::Silence) => {
            sleep(Duration::from_secs(3600)).await;
            StatusCode::GATEWAY_TIMEOUT.into_response()
        }
        Some(LimesFault::Garbage) => answer("<html>"),
        Some(LimesFault::Half) => {
            let body = body_of(&state, &project);
            answer(&body[..body.len() / 2])
        }
        Some(LimesFault::Other(other)) => answer(&body_of(&state, &other)),
        Some(LimesFault::Busy { .. }) | None if state.lock().projects.contains_key(&project) => {
            answer(&body_of(&state, &project))
        }
        Some(LimesFault::Busy { .. }) | None => (StatusCode::NOT_FOUND, "no such project").into_response(),
    }
}

fn body_of(state: &Shared, project: &str) -> String {
    let commitments = state.lock().projects.get(project).cloned().unwrap_or_default();
    json!({ "commitments": commitments }).to_string()
}

fn answer(body: &str) -> Response {
    ([("content-type", "application/json")], body.to_owned()).into_response()
}
