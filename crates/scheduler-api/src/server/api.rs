//! What answers the requests of one process.

use berth_telemetry::config::Token;

use super::gate::Gate;
use super::{ApiLimits, Forwarder, Surroundings};
use crate::Backend;
use crate::metrics::ApiMetrics;

/// The endpoint of one process.
pub struct Api<B> {
    pub(super) backend: B,
    pub(super) forwarder: Box<dyn Forwarder>,
    pub(super) surroundings: Surroundings,
    pub(super) limits: ApiLimits,
    pub(super) gate: Gate,
    pub(super) metrics: ApiMetrics,
    pub(super) token: Option<Token>,
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

    /// The same endpoint for those only who show this token, if there is one.
    #[must_use]
    pub fn with_token(self, token: Option<Token>) -> Self {
        Self { token, ..self }
    }

    /// The rest of the process, as it was given.
    pub fn backend(&self) -> &B {
        &self.backend
    }
}
