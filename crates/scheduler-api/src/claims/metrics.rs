//! The metrics of kept claims.

use berth_telemetry::declare_metrics;
use prometheus::{IntCounterVec, IntGaugeVec};

declare_metrics! {
    /// The counters.
    pub struct ClaimMetrics {
        answers: IntCounterVec["outcome"], "berth_claim_answers_total",
            "Answers with a claim, by outcome: kept (written before the answer) or late (sent without waiting longer).";
        left_out: IntGaugeVec[], "berth_claims_left_out",
            "Claims that a restart would lose because the ConfigMap berth-claims is full.";
    }
}

impl ClaimMetrics {
    pub(super) fn answered(&self, in_time: bool) {
        self.answers.with_label_values(&[if in_time { "kept" } else { "late" }]).inc();
    }

    pub(super) fn left_out(&self, count: usize) {
        self.left_out.with_label_values::<&str>(&[]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}
