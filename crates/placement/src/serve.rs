//! A server process around a ledger: listeners, readiness, metrics and a bounded end.

mod database;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use berth_http::metrics::HttpMetrics;
use berth_http::{
    Access, Address, Authorizer, Component, HttpError, Limits, Readiness, Server, TlsInForce, health, needs_tls,
};
use berth_openstack::TokenMetrics;
use berth_openstack::authentication::{Authentication, Off};
use berth_openstack::policy::Policies;
use berth_placement_model::Model;
use berth_telemetry::clock::SystemClock;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use serde_json::json;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{Instant, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::api::Seeds;
use crate::ledger::{Ledger, LedgerError, LedgerMetrics, LedgerProblem, Operated};
use crate::protocol::cors::Cors;
use crate::{Api, GenerationOptions};

pub use database::Database;

/// The settings of a server.
pub struct Settings {
    pub listen: Address,
    /// Where `/healthz`, `/readyz`, `/metrics` and `/check` are served, if anywhere.
    pub metrics_listen: Option<Address>,
    /// Who may read the metrics, and compare, over TLS; `None`: everyone, without TLS.
    pub metrics_readers: Option<Arc<dyn Authorizer>>,
    /// The certificate of the listeners; `None`: the API is served without TLS.
    pub tls: Option<TlsInForce>,
    /// Connections of the API, at most.
    pub connections: usize,
    /// Peers, such as proxies, that may have more than a quarter of them.
    pub trusted_peers: BTreeSet<IpAddr>,
    pub database: Database,
    /// How callers authenticate; `None`: all callers have all rights.
    pub authentication: Option<Arc<dyn Authentication>>,
    pub access: Access,
    pub policies: Policies,
    /// Which pages of other sites may use the API.
    pub cors: Option<Cors>,
    pub generation: GenerationOptions,
    /// Whether the order of hosts in them is drawn for each query.
    pub randomize: bool,
}

/// Why a server does not start or go on.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    #[error("the ledger has ended; the log has the cause, and the process stops so that it is started again")]
    Ended,
}

/// Registers every metric of a server and shows none: for the documentation.
pub fn metrics(registry: &Metrics) -> Result<(), MetricsError> {
    HttpMetrics::register(registry)?;
    LedgerMetrics::register(registry)?;
    TokenMetrics::register(registry)?;
    register(registry, &Watched::default())
}

/// Serves until `stop` is cancelled; accepted requests are finished.
pub async fn serve(settings: Settings, registry: Metrics, stop: CancellationToken) -> Result<(), ServeError> {
    let (http, counted) = (HttpMetrics::register(&registry)?, LedgerMetrics::register(&registry)?);
    let watched = Watched::default();
    register(&registry, &watched)?;
    http.show_access(API, settings.access);
    let ready = Readiness::new();
    let component = ready.component("ledger");
    let side_stop = CancellationToken::new();
    if let Some(tls) = settings.tls.clone() {
        tokio::spawn(side_stop.clone().run_until_cancelled_owned(TlsInForce::follow(vec![tls], http.clone())));
    }
    let side = match &settings.metrics_listen {
        None => None,
        Some(address) => {
            let listener = address.listen().await?;
            tracing::info!(address = %local(address, &listener), "serving probes and metrics");
            let server = Server::new("metrics").with_metrics(&http).with_limits(Limits::of_probes());
            let (probes, metrics) =
                (health::router(Readiness::new(), ready.clone()), berth_http::metrics::router(registry));
            let (server, routes) = match settings.metrics_readers.clone() {
                None => (server, probes.merge(metrics).merge(router(watched.clone()))),
                Some(readers) => {
                    let plain = probes.merge(local_only(router(watched.clone())));
                    let routes = metrics.merge(router(watched.clone()));
                    server.for_authorized(routes, Some(plain), readers, settings.tls.as_ref())?
                }
            };
            Some(tokio::spawn(server.serve_apart(listener, routes, side_stop.clone())))
        }
    };
    let outcome = serve_api(settings, &http, counted, (watched, component), stop).await;
    side_stop.cancel();
    if let Some(side) = side {
        // It has no work that must be finished.
        let _ = side.await;
    }
    outcome
}

async fn serve_api(
    settings: Settings,
    http: &HttpMetrics,
    counted: LedgerMetrics,
    (watched, component): (Watched, berth_http::Component),
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let Settings { listen, tls, connections, trusted_peers, database, authentication, .. } = settings;
    let Settings { policies, cors, generation, randomize, .. } = settings;
    let listener = listen.listen().await?;
    let ledger: Arc<dyn Operated> = database.open(Arc::new(SystemClock), counted).await?;
    watched.set(ledger.clone());
    let authentication = authentication.unwrap_or_else(|| Arc::new(Off));
    let api = Api::new(ledger.clone() as Arc<dyn Ledger>, authentication, policies).with_cors(cors);
    let api = api.with_generation(generation).with_seeds(randomize.then(Seeds::random));
    let longest = api.bounds().longest_answer();
    let limits = Limits { answer: longest, drain: longest, ..Limits::default() }.with_body(api.bounds().body);
    let limits = limits.with_connections(connections, trusted_peers);
    let router = api.router();
    let server = Server::new("placement").with_metrics(http).with_limits(limits);
    let server = tls.iter().try_fold(server, Server::over_tls)?;
    tracing::info!(address = %local(&listen, &listener), database = %database, "serving the Placement API");
    let work = async {
        // Until then clients wait in the queue of the listener. Without a ledger in that time they get 503.
        let _ = stop.run_until_cancelled(timeout(FIRST_ANSWERS, wait_until_ready(ledger.as_ref()))).await;
        server.serve(listener, router, stop.clone()).await
    };
    let outcome = tokio::select! {
        end = work => end.map_err(ServeError::from),
        () = ledger.ended() => Err(ServeError::Ended),
        never = report_impediment(ledger.as_ref(), &component) => match never {},
    };
    component.not_ready("ending");
    ledger.close().await;
    outcome
}

async fn wait_until_ready(ledger: &dyn Operated) {
    while ledger.impediment().is_some() {
        sleep(POLL).await;
    }
}

/// Where it really listens, if the operating system chose the port.
fn local(address: &Address, listener: &tokio::net::TcpListener) -> Address {
    let port = listener.local_addr().map_or(address.port, |local| local.port());
    Address { port, ..address.clone() }
}

// Observes a running ledger: readiness, metrics, and the comparison of model and database. It determines how often
// these are read, and runs one comparison at a time.

/// `berth_placement_model_age_seconds`.
pub const AGE: Metric = Metric {
    name: "berth_placement_model_age_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "Seconds since the database last said what is new; 0 with SQLite. No series while the model is built.",
};
pub const PROVIDERS: Metric = Metric {
    name: "berth_placement_model_providers",
    kind: Kind::Gauge,
    labels: &[],
    help: "Resource providers in the model. No series while it is built.",
};

pub const PROBLEMS: Metric = Metric {
    name: "berth_placement_ledger_problem",
    kind: Kind::Gauge,
    labels: &["problem"],
    help: "1 if the database has this problem, else 0: disk_full; with SQLite also file_missing, file_replaced.",
};

/// The label of this API.
const API: &str = "placement";

const EVERY: Duration = Duration::from_millis(200);
/// How long the first answers wait for the ledger, and how often they look for it.
const FIRST_ANSWERS: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);
/// For a comparison; the largest ledgers take seconds.
const CHECK: Duration = Duration::from_secs(60);

/// The ledger, once it is there.
#[derive(Clone, Default)]
struct Watched {
    ledger: Arc<OnceLock<Arc<dyn Operated>>>,
    checking: Arc<Mutex<()>>,
    /// The runtime of the ledger; probes have another one.
    runtime: Arc<OnceLock<Handle>>,
}

impl Watched {
    pub fn set(&self, ledger: Arc<dyn Operated>) {
        // It is opened once.
        let _ = self.runtime.set(Handle::current());
        let _ = self.ledger.set(ledger);
    }
}

/// Registers the computed metrics.
fn register(registry: &Metrics, watched: &Watched) -> Result<(), MetricsError> {
    let of = |value: fn(&dyn Operated) -> Option<f64>| {
        let watched = watched.clone();
        move || {
            let value = watched.ledger.get().and_then(|ledger| value(ledger.as_ref()));
            value.map(|value| (Vec::new(), value)).into_iter().collect()
        }
    };
    let ledger = watched.ledger.clone();
    registry.computed(&PROBLEMS, move || {
        let problems = ledger.get().map(|ledger| ledger.problems()).unwrap_or_default();
        let series =
            |(problem, holds): (LedgerProblem, bool)| (vec![problem.label().to_owned()], f64::from(u8::from(holds)));
        problems.into_iter().map(series).collect()
    })?;
    registry.computed(&AGE, of(|ledger| ledger.age().map(|age| age.as_secs_f64())))?;
    registry.computed(&PROVIDERS, of(|ledger| ledger.last_model().map(|model| size(&model))))
}

#[allow(clippy::cast_precision_loss, reason = "a number for people")]
fn size(model: &Model) -> f64 {
    model.len() as f64
}

/// Says in `/readyz` how the ledger is, for ever.
async fn report_impediment(ledger: &dyn Operated, component: &Component) -> Infallible {
    let mut tick = interval(EVERY);
    loop {
        tick.tick().await;
        match (ledger.impediment(), ledger.impairment()) {
            (Some(why), _) => component.not_ready(why),
            (None, Some(why)) => component.impaired(why),
            (None, None) => component.ready(),
        }
    }
}

fn router(watched: Watched) -> Router {
    Router::new().route("/check", get(check).with_state(watched))
}

/// `berth placement check` runs where the server runs, and has no token.
fn local_only(router: Router) -> Router {
    router.route_layer(from_fn(refuse_others))
}

async fn refuse_others(request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let is_local = peer.is_some_and(|ConnectInfo(peer)| peer.ip().to_canonical().is_loopback());
    if is_local { next.run(request).await } else { needs_tls().await }
}

async fn check(State(watched): State<Watched>) -> Response {
    let unavailable = |why: String| (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "error": why }))).into_response();
    let Some(ledger) = watched.ledger.get() else { return unavailable("the ledger is not open yet".to_owned()) };
    let Some(runtime) = watched.runtime.get() else { return unavailable("the ledger is not open yet".to_owned()) };
    let Ok(one) = watched.checking.clone().try_lock_owned() else {
        return unavailable("another comparison runs".to_owned());
    };
    let ledger = ledger.clone();
    let check = async move {
        let _one = one;
        ledger.check(Instant::now() + CHECK).await
    };
    match runtime.spawn(check).await {
        Ok(Ok(differences)) => Json(json!({ "differences": differences })).into_response(),
        Ok(Err(error)) => unavailable(error.to_string()),
        Err(_) => unavailable("the comparison was interrupted; the log has the cause".to_owned()),
    }
}
