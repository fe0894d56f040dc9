//! The metrics of token checks.

use std::time::Duration;

use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::{Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec};
use strum::{EnumIter, IntoEnumIterator as _, IntoStaticStr};

const BUCKETS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

declare_metrics! {
    struct TokenSeries {
        checks: IntCounterVec["outcome"], "berth_token_checks_total",
            "Requests whose token was checked, by outcome: cached, validated, outdated, unknown, missing, unavailable or busy.";
        validation: HistogramVec[] in &BUCKETS, "berth_token_validation_duration_seconds",
            "Seconds that a validation of a token by Keystone took, whatever came of it.";
    }
}

/// How a check has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumIter)]
#[strum(serialize_all = "lowercase")]
pub(super) enum CheckOutcome {
    /// Accepted without a question to Keystone.
    Cached,
    Validated,
    /// Accepted, although Keystone did not answer.
    Outdated,
    /// Keystone does not know the token.
    Unknown,
    /// The request has no token, or one that cannot be one.
    Missing,
    Unavailable,
    Busy,
}

/// The metrics of the token checks of a process. Clones share their values.
#[derive(Clone, Debug)]
pub struct TokenMetrics(TokenSeries);

impl TokenMetrics {
    /// Registers them with all series at 0; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let series = TokenSeries::register(metrics)?;
        for outcome in CheckOutcome::iter() {
            series.checks.with_label_values(&[<&str>::from(outcome)]).inc_by(0);
        }
        series.validation.with_label_values(&[] as &[&str]);
        Ok(Self(series))
    }

    pub(super) fn checked(&self, outcome: CheckOutcome) {
        self.0.checks.with_label_values(&[<&str>::from(outcome)]).inc();
    }

    pub(super) fn validated(&self, took: Duration) {
        self.0.validation.with_label_values(&[] as &[&str]).observe(took.as_secs_f64());
    }
}
