//! Handles the requests of one process.

use berth_telemetry::config::Token;

use super::admission_limiter::AdmissionLimiter;
use super::{ApiLimits, Forwarder, TimeAndRandom};
use crate::Backend;
use crate::metrics::ApiMetrics;

/// The endpoint of one process.
pub struct Api<B> {
    pub(super) backend: B,
    pub(super) forwarder: Box<dyn Forwarder>,
    pub(super) surroundings: TimeAndRandom,
    pub(super) limits: ApiLimits,
    pub(super) admission_limiter: AdmissionLimiter,
    pub(super) metrics: ApiMetrics,
    pub(super) token: Option<Token>,
}

impl<B: Backend> Api<B> {
    pub fn new(
        backend: B,
        forwarder: impl Forwarder,
        surroundings: TimeAndRandom,
        limits: ApiLimits,
        metrics: ApiMetrics,
    ) -> Self {
        let limiter = AdmissionLimiter::new(&limits);
        Self {
            backend,
            forwarder: Box::new(forwarder),
            surroundings,
            limits,
            admission_limiter: limiter,
            metrics,
            token: None,
        }
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
