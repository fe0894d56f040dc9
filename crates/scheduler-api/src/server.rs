//! The server side of `POST /scheduler/nova/external` (documents 22 and 60 section 2): who is heard, who answers, and
//! with which status. Which host is best is decided by the scheduler, what a body means by [`crate::wire`].

mod body;
mod forwarder;
mod gate;
mod handle;
mod limits;
mod refusal;
mod run;
mod showing;
mod surroundings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{Router, routing::post};
use berth_telemetry::config::Token;

use crate::{Backend, metrics::ApiMetrics};
use gate::Gate;

pub use forwarder::{DEADLINE_MS, FORWARDED, Forwarder};
pub use limits::ApiLimits;
pub use surroundings::Surroundings;

/// The path of the endpoint; with a slash at its end it does not exist.
pub const PATH: &str = "/scheduler/nova/external";

/// The endpoint of one process.
pub struct Api<B> {
    backend: B,
    forwarder: Box<dyn Forwarder>,
    surroundings: Surroundings,
    limits: ApiLimits,
    gate: Gate,
    metrics: ApiMetrics,
    token: Option<Token>,
}

impl<B: Backend> Api<B> {
    /// The endpoint.
    pub fn new(
        backend: B,
        forwarder: impl Forwarder,
        surroundings: Surroundings,
        limits: ApiLimits,
        metrics: ApiMetrics,
    ) -> Self {
        let gate = Gate::new(&limits);
        Self { backend, forwarder: Box::new(forwarder), surroundings, limits, gate, metrics, token: None }
    }

    /// The same endpoint for those only who show this token, if there is one (document 22 section 12 no. 12).
    #[must_use]
    pub fn with_token(self, token: Option<Token>) -> Self {
        Self { token, ..self }
    }

    /// The rest of the process, as it was given.
    pub fn backend(&self) -> &B {
        &self.backend
    }
}

/// Exactly one path, exactly one method. Bodies are bounded here, whatever the listener allows.
pub fn router<B: Backend>(api: Arc<Api<B>>) -> Router {
    let method = post(handle::handle::<B>).fallback(handle::wrong_method::<B>);
    Router::new().route(PATH, method).with_state(api)
}
