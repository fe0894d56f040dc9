//! One server process around a ledger: listeners, readiness, metrics and a bounded end. It decides in which order these
//! begin and end; what is served is a [`Api`], what remembers is a ledger.

mod database;

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use berth_http::metrics::HttpMetrics;
use berth_http::{Address, Component, HttpError, Limits, Readiness, Server, health};
use berth_placement_model::Model;
use berth_telemetry::clock::SystemClock;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntGauge;
use serde_json::json;
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::{Instant, interval};
use tokio_util::sync::CancellationToken;

use crate::api::Seeds;
use crate::ledger::{Ledger, LedgerError, LedgerMetrics, Operated};
use crate::protocol::authentication::{Authentication, Off};
use crate::protocol::cors::Cors;
use crate::{Api, GenerationOptions, Policies};

pub use database::Database;

/// Everything that a server is told.
pub struct Settings {
    /// Where the API is served.
    pub listen: Address,
    /// Where `/healthz`, `/readyz`, `/metrics` and `/check` are served, if anywhere.
    pub metrics_listen: Option<Address>,
    /// What remembers.
    pub database: Database,
    /// How callers prove who they are; `None`: everybody may do everything.
    pub authentication: Option<Arc<dyn Authentication>>,
    /// Who may do what.
    pub policies: Policies,
    /// Which pages of other sites may use the API.
    pub cors: Option<Cors>,
    /// How candidates are generated.
    pub generation: GenerationOptions,
    /// Whether the order of hosts in them is drawn for each query.
    pub randomize: bool,
}

/// Why a server does not start or go on.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A listener.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Metrics.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The ledger has ended by itself.
    #[error("the ledger has ended; the log says why, and the process stops so that it is started again")]
    Ended,
}

/// Registers every metric of a server and shows none: for the documentation.
pub fn metrics(registry: &Metrics) -> Result<(), MetricsError> {
    HttpMetrics::register(registry)?;
    LedgerMetrics::register(registry)?;
    register(registry, &Watched::default()).map(drop)
}

/// Serves until `stop` is cancelled; what was accepted by then is finished.
pub async fn serve(settings: Settings, registry: Metrics, stop: CancellationToken) -> Result<(), ServeError> {
    let (http, counted) = (HttpMetrics::register(&registry)?, LedgerMetrics::register(&registry)?);
    let watched = Watched::default();
    register(&registry, &watched)?.set(settings.authentication.is_none().into());
    let ready = Readiness::new();
    let component = ready.component("ledger");
    let side_stop = CancellationToken::new();
    let side = match &settings.metrics_listen {
        None => None,
        Some(address) => {
            let listener = address.listen().await?;
            tracing::info!(address = %local(address, &listener), "probes and metrics are served");
            let routes = health::router(Readiness::new(), ready.clone())
                .merge(berth_http::metrics::router(registry))
                .merge(router(watched.clone()));
            let server = Server::new("metrics").with_metrics(&http);
            Some(tokio::spawn(server.serve(listener, routes, side_stop.clone())))
        }
    };
    let outcome = serve_api(settings, &http, counted, (watched, component), stop).await;
    side_stop.cancel();
    if let Some(side) = side {
        // It has nothing that would have to be finished.
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
    let Settings { listen, database, authentication, policies, cors, generation, randomize, .. } = settings;
    let listener = listen.listen().await?;
    let ledger: Arc<dyn Operated> = database.open(Arc::new(SystemClock), counted).await?;
    watched.set(ledger.clone());
    let authentication = authentication.unwrap_or_else(|| Arc::new(Off));
    let api = Api::new(ledger.clone() as Arc<dyn Ledger>, authentication, policies).with_cors(cors);
    let api = api.with_generation(generation).with_seeds(randomize.then(Seeds::random));
    // The API bounds bodies and answers itself, with words of its own, and then what it skips; what it has accepted it may
    // finish.
    let longest = api.bounds().deadline + 3 * api.bounds().grace;
    let limits = Limits { answer: longest, drain: longest, ..Limits::default() }.with_body(api.bounds().body);
    let router = api.router();
    let server = Server::new("placement").with_metrics(http).with_limits(limits);
    tracing::info!(address = %local(&listen, &listener), database = %database, "the Placement API is served");
    let outcome = tokio::select! {
        end = server.serve(listener, router, stop) => end.map_err(ServeError::from),
        () = ledger.ended() => Err(ServeError::Ended),
        never = tell(ledger.as_ref(), &component) => match never {},
    };
    component.not_ready("ending");
    ledger.close().await;
    outcome
}

/// Where it really listens, if the operating system chose the port.
fn local(address: &Address, listener: &tokio::net::TcpListener) -> Address {
    let port = listener.local_addr().map_or(address.port, |local| local.port());
    Address { port, ..address.clone() }
}

// What is told about a running ledger: readiness, metrics, and the comparison of model and database. It decides how often
// it is looked at, and that one comparison runs at a time.

/// `berth_placement_model_age_seconds`.
pub const AGE: Metric = Metric {
    name: "berth_placement_model_age_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "Seconds since the database last said what is new; 0 with SQLite. No series while the model is built.",
};
/// `berth_placement_model_providers`.
pub const PROVIDERS: Metric = Metric {
    name: "berth_placement_model_providers",
    kind: Kind::Gauge,
    labels: &[],
    help: "Resource providers in the model. No series while it is built.",
};

/// `berth_auth_disabled`.
pub const AUTH_DISABLED: Metric = Metric {
    name: "berth_auth_disabled",
    kind: Kind::Gauge,
    labels: &[],
    help: "1 if everybody who reaches the API may do everything, else 0.",
};

const EVERY: Duration = Duration::from_millis(200);
/// For a comparison; the largest ledgers take seconds.
const CHECK: Duration = Duration::from_secs(60);

/// The ledger, once it is there.
#[derive(Clone, Default)]
struct Watched {
    ledger: Arc<OnceLock<Arc<dyn Operated>>>,
    checking: Arc<Mutex<()>>,
}

impl Watched {
    /// From now on it is there.
    pub fn set(&self, ledger: Arc<dyn Operated>) {
        // It is opened once.
        let _ = self.ledger.set(ledger);
    }
}

/// Registers what is computed when somebody looks, and the gauge of authentication that is off.
fn register(registry: &Metrics, watched: &Watched) -> Result<IntGauge, MetricsError> {
    let of = |value: fn(&dyn Operated) -> Option<f64>| {
        let watched = watched.clone();
        move || {
            let value = watched.ledger.get().and_then(|ledger| value(ledger.as_ref()));
            value.map(|value| (Vec::new(), value)).into_iter().collect()
        }
    };
    registry.computed(&AGE, of(|ledger| ledger.age().map(|age| age.as_secs_f64())))?;
    registry.computed(&PROVIDERS, of(|ledger| ledger.last_model().map(|model| size(&model))))?;
    Ok(registry.gauge(&AUTH_DISABLED)?.with_label_values::<&str>(&[]))
}

#[allow(clippy::cast_precision_loss, reason = "a number for people")]
fn size(model: &Model) -> f64 {
    model.len() as f64
}

/// Says in `/readyz` how the ledger is, for ever.
async fn tell(ledger: &dyn Operated, component: &Component) -> Infallible {
    let mut tick = interval(EVERY);
    loop {
        tick.tick().await;
        match ledger.impediment() {
            Some(why) => component.not_ready(why),
            None => component.ready(),
        }
    }
}

/// `/check`.
fn router(watched: Watched) -> Router {
    Router::new().route("/check", get(check).with_state(watched))
}

async fn check(State(watched): State<Watched>) -> Response {
    let unavailable = |why: String| (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "error": why }))).into_response();
    let Some(ledger) = watched.ledger.get() else { return unavailable("the ledger is not open yet".to_owned()) };
    let Ok(_one) = watched.checking.try_lock() else { return unavailable("another comparison runs".to_owned()) };
    match ledger.check(Instant::now() + CHECK).await {
        Ok(differences) => Json(json!({ "differences": differences })).into_response(),
        Err(trouble) => unavailable(trouble.to_string()),
    }
}
