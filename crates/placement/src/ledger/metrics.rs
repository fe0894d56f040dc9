//! Metrics of a ledger and its model. Labels come from closed sets.

use berth_telemetry::declare_metrics;
use prometheus::{HistogramVec, IntCounterVec};

use super::{RequestError, Written};

const BATCHES: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

declare_metrics! {
    /// The counters of a ledger. Clones count together.
    pub struct LedgerMetrics {
        writes: IntCounterVec["outcome"], "berth_placement_ledger_writes_total",
            "Writes, by outcome: done, refused, conflict (409), unavailable, unknown.";
        transactions: IntCounterVec[], "berth_placement_ledger_transactions_total",
            "Transactions of writes, refused ones included; with SQLite several writes may share one.";
        retries: IntCounterVec["reason"], "berth_placement_ledger_retries_total",
            "Transactions that were begun again: deadlock, serialization, duplicate, moved, connection.";
        batch: HistogramVec[] in &BATCHES, "berth_placement_ledger_batch_writes",
            "Writes that shared a transaction.";
        rebuilds: IntCounterVec[], "berth_placement_model_rebuilds_total",
            "How often the model was built from the database, the first time included.";
    }
}

impl LedgerMetrics {
    /// A transaction of so many writes has ended.
    pub(super) fn transaction(&self, writes: usize) {
        self.transactions.with_label_values::<&str>(&[]).inc();
        #[allow(clippy::cast_precision_loss, reason = "at most 128")]
        self.batch.with_label_values::<&str>(&[]).observe(writes as f64);
    }

    pub(super) fn retry(&self, reason: &str) {
        self.retries.with_label_values(&[reason]).inc();
    }

    pub(super) fn rebuilt(&self) {
        self.rebuilds.with_label_values::<&str>(&[]).inc();
    }

    pub(super) fn answered(&self, answer: &Result<Written, RequestError>) {
        use berth_placement_model::refusal::Kind::Conflict;
        let outcome = match answer {
            Ok(_) => "done",
            Err(RequestError::Refused(refusal)) if refusal.kind == Conflict => "conflict",
            Err(RequestError::Refused(_)) => "refused",
            Err(RequestError::Unavailable(_)) => "unavailable",
            Err(RequestError::Unknown(_)) => "unknown",
        };
        self.writes.with_label_values(&[outcome]).inc();
    }
}
