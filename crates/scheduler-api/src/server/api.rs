//! Handles the requests of one process.

use super::admission_limiter::AdmissionLimiter;
use super::showing::TokensInForce;
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
    pub(super) tokens: Option<TokensInForce>,
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
            tokens: None,
        }
    }

    /// The same endpoint for those only who show one of these tokens, if there are any.
    #[must_use]
    pub fn with_tokens(self, tokens: Option<TokensInForce>) -> Self {
        Self { tokens, ..self }
    }

    /// The rest of the process, as it was given.
    pub fn backend(&self) -> &B {
        &self.backend
    }
}
