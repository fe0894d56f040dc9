//! Probes. It decides when a process is alive (it answers) and when it is ready (every component that registered says
//! so; decision U23); what makes a component ready is known to the component.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;

use crate::answer;

/// The components of a process and what each is waiting for. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    waiting: Arc<RwLock<BTreeMap<String, Option<String>>>>,
}

/// The voice of one component. Clones speak for the same one.
#[derive(Debug, Clone)]
pub struct Component {
    all: Readiness,
    name: String,
}

impl Readiness {
    /// Nothing registered: ready.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a component, which is not ready until it says so. `name` is shown to people, for example
    /// `stores of cluster home`.
    pub fn component(&self, name: impl Into<String>) -> Component {
        let component = Component { all: self.clone(), name: name.into() };
        component.not_ready("starting");
        component
    }

    /// Who is not ready and why, by name.
    pub fn waiting(&self) -> Vec<(String, String)> {
        let waiting = self.waiting.read().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().filter_map(|(name, reason)| Some((name.clone(), reason.clone()?))).collect()
    }

    /// Whether all components are ready.
    pub fn is_ready(&self) -> bool {
        self.waiting().is_empty()
    }

    fn set(&self, name: &str, reason: Option<&str>) {
        let before = {
            let mut waiting = self.waiting.write().unwrap_or_else(PoisonError::into_inner);
            waiting.insert(name.to_owned(), reason.map(str::to_owned))
        };
        if before.is_none_or(|before| before.as_deref() != reason) {
            tracing::info!(component = name, "readiness: {name}: {}", reason.unwrap_or("ready"));
        }
    }
}

impl Component {
    /// From now on this component can do its work.
    pub fn ready(&self) {
        self.all.set(&self.name, None);
    }

    /// From now on this component waits, for `reason`: one line for people.
    pub fn not_ready(&self, reason: impl AsRef<str>) {
        self.all.set(&self.name, Some(reason.as_ref()));
    }
}

/// `/healthz` and `/readyz`: 200 `ok`, or 503 with one line for each component that waits.
///
/// Most processes are alive as long as they answer: for them `live` is an empty [`Readiness`].
pub fn router(live: Readiness, ready: Readiness) -> Router {
    Router::new().route("/healthz", get(report).with_state(live)).route("/readyz", get(report).with_state(ready))
}

async fn report(State(readiness): State<Readiness>) -> Response {
    let waiting = readiness.waiting();
    if waiting.is_empty() {
        return answer::text(StatusCode::OK, "ok");
    }
    let mut lines = String::new();
    for (name, reason) in waiting {
        let separator = if lines.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = write!(lines, "{separator}{name}: {reason}");
    }
    answer::text(StatusCode::SERVICE_UNAVAILABLE, lines)
}
