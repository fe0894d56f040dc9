//! Probes. It decides when a process is alive (it answers) and when it is ready; what makes a component ready is known
//! to the component.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use axum::{Router, extract};
use parking_lot::RwLock;

use crate::answer;

/// The components of a process and what each is waiting for. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    states: Arc<RwLock<BTreeMap<String, State>>>,
}

/// How a component is, with one line for people where something is wrong.
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
        self.reasons(|state| if let State::Waiting(reason) = state { Some(reason) } else { None })
    }

    /// Who does only a part of its work and why, by name.
    pub fn impaired(&self) -> Vec<(String, String)> {
        self.reasons(|state| if let State::Impaired(reason) = state { Some(reason) } else { None })
    }

    fn reasons(&self, of: impl Fn(&State) -> Option<&String>) -> Vec<(String, String)> {
        let states = self.states.read();
        states.iter().filter_map(|(name, state)| Some((name.clone(), of(state)?.clone()))).collect()
    }

    /// Whether all components are ready.
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
            State::Ready => tracing::info!(component = name, "readiness: {name}: ready"),
            State::Waiting(reason) => tracing::info!(component = name, "readiness: {name}: {reason}"),
            State::Impaired(reason) => tracing::info!(component = name, "readiness: {name}: ready, but {reason}"),
        }
    }
}

impl Component {
    /// From now on this component can do its work.
    pub fn ready(&self) {
        self.all.set(&self.name, State::Ready);
    }

    /// From now on this component waits, for `reason`: one line for people.
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
    answer::text(StatusCode::SERVICE_UNAVAILABLE, lines("", &waiting))
}

fn lines(first: &str, components: &[(String, String)]) -> String {
    let first = Some(first.to_owned()).filter(|first| !first.is_empty());
    let components = components.iter().map(|(name, reason)| format!("{name}: {reason}"));
    first.into_iter().chain(components).collect::<Vec<_>>().join("\n")
}
