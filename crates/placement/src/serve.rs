//! One server process around a ledger: listeners, readiness, metrics and a bounded end. It decides in which order these
//! begin and end; what is served is a [`Api`], what remembers is a ledger.

mod database;
mod watch;

use std::sync::Arc;

use berth_http::{Address, HttpError, Limits, Readiness, Server, health, metrics::HttpMetrics};
use berth_telemetry::{
    clock::SystemClock,
    metrics::{Metrics, MetricsError},
};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub use database::Database;

use crate::{
    Api, GenerationOptions, Policies,
    api::Seeds,
    ledger::{Ledger, LedgerError, LedgerMetrics, Operated},
    protocol::{
        authentication::{Authentication, Off},
        cors::Cors,
    },
};

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
    watch::register(registry, &watch::Watched::default()).map(drop)
}

/// Serves until `stop` is cancelled; what was accepted by then is finished.
pub async fn serve(settings: Settings, registry: Metrics, stop: CancellationToken) -> Result<(), ServeError> {
    let (http, counted) = (HttpMetrics::register(&registry)?, LedgerMetrics::register(&registry)?);
    let watched = watch::Watched::default();
    watch::register(&registry, &watched)?.set(settings.authentication.is_none().into());
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
                .merge(watch::router(watched.clone()));
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
    (watched, component): (watch::Watched, berth_http::Component),
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
        never = watch::tell(ledger.as_ref(), &component) => match never {},
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
