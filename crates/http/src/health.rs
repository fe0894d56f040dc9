//! The probes: a process is alive when it answers, and ready when all its components are.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use axum::{Router, extract};
use parking_lot::RwLock;

use crate::{LogReason, answer};

/// The components of a process and what each is waiting for. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    states: Arc<RwLock<BTreeMap<String, State>>>,
}

/// The state of a component, with one line for users if there is a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Waiting(String),
    Impaired(String),
    Ready,
}

/// The voice of one component. Clones speak for the same one.
#[derive(Debug, Clone)]
pub struct Component {
    all: Readiness,
    name: String,
}

impl Readiness {
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a component, which is not ready until it reports so. `name` is shown to users, for example `stores of
    /// cluster home`.
    pub fn component(&self, name: impl Into<String>) -> Component {
        let component = Component { all: self.clone(), name: name.into() };
        component.not_ready("starting");
        component
    }

    /// Names the parts that are not ready, with the reason.
    pub fn waiting(&self) -> Vec<(String, String)> {
        self.reasons(|state| if let State::Waiting(reason) = state { Some(reason) } else { None })
    }

    /// Names the parts that do only some of their work, with the reason.
    pub fn impaired(&self) -> Vec<(String, String)> {
        self.reasons(|state| if let State::Impaired(reason) = state { Some(reason) } else { None })
    }

    fn reasons(&self, of: impl Fn(&State) -> Option<&String>) -> Vec<(String, String)> {
        let states = self.states.read();
        states.iter().filter_map(|(name, state)| Some((name.clone(), of(state)?.clone()))).collect()
    }

    pub fn is_ready(&self) -> bool {
        self.waiting().is_empty()
    }

    fn set(&self, name: &str, state: State) {
        let before = {
            let mut states = self.states.write();
            states.insert(name.to_owned(), state.clone())
        };
        if before.as_ref() == Some(&state) {
            return;
        }
        match state {
            State::Ready => tracing::info!(component = name, "component ready"),
            State::Waiting(reason) => tracing::info!(component = name, reason, "component not ready"),
            State::Impaired(reason) => tracing::info!(component = name, reason, "component ready but impaired"),
        }
    }
}

impl Component {
    /// From now on this component can do its work.
    pub fn ready(&self) {
        self.all.set(&self.name, State::Ready);
    }

    /// From now on this component waits, for `reason`: one line for users.
    pub fn not_ready(&self, reason: impl AsRef<str>) {
        self.all.set(&self.name, State::Waiting(reason.as_ref().to_owned()));
    }

    /// From now on this component does a part of its work, and the process counts as ready. `reason` is one line that
    /// continues "ready, but".
    pub fn impaired(&self, reason: impl AsRef<str>) {
        self.all.set(&self.name, State::Impaired(reason.as_ref().to_owned()));
    }
}

/// `/healthz` and `/readyz`: 200 `ok`, with one line for each component that is impaired, or 503 with one line for each
/// that waits.
///
/// Most processes are alive as long as they answer: for them `live` is an empty [`Readiness`].
pub fn router(live: Readiness, ready: Readiness) -> Router {
    Router::new().route("/healthz", get(report).with_state(live)).route("/readyz", get(report).with_state(ready))
}

async fn report(extract::State(readiness): extract::State<Readiness>) -> Response {
    let waiting = readiness.waiting();
    if waiting.is_empty() {
        return answer::text(StatusCode::OK, lines("ok", &readiness.impaired()));
    }
    let mut response = answer::text(StatusCode::SERVICE_UNAVAILABLE, lines("", &waiting));
    // Components log their changes.
    response.extensions_mut().insert(LogReason::Logged);
    response
}

fn lines(first: &str, components: &[(String, String)]) -> String {
    let first = Some(first.to_owned()).filter(|first| !first.is_empty());
    let components = components.iter().map(|(name, reason)| format!("{name}: {reason}"));
    first.into_iter().chain(components).collect::<Vec<_>>().join("\n")
}
