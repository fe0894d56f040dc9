//! What is told about a running ledger: readiness, metrics, and the comparison of model and database. It decides how often
//! it is looked at, and that one comparison runs at a time.

use std::{
    convert::Infallible,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use berth_http::Component;
use berth_placement_model::Model;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntGauge;
use serde_json::json;
use tokio::{
    sync::Mutex,
    time::{Instant, interval},
};

use crate::ledger::Operated;

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
pub(super) struct Watched {
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
pub(super) fn register(registry: &Metrics, watched: &Watched) -> Result<IntGauge, MetricsError> {
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
pub(super) async fn tell(ledger: &dyn Operated, component: &Component) -> Infallible {
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
pub(super) fn router(watched: Watched) -> Router {
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
