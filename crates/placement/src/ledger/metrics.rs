//! What is counted about a ledger and its model. It decides the labels, all of them from closed sets.

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec};

use super::{Trouble, Written};

/// `berth_placement_ledger_writes_total`.
pub const WRITES: Metric = Metric {
    name: "berth_placement_ledger_writes_total",
    kind: Kind::Counter,
    labels: &["outcome"],
    help: "Writes by what became of them: done, refused, conflict (409), unavailable, unknown.",
};
/// `berth_placement_ledger_transactions_total`.
pub const TRANSACTIONS: Metric = Metric {
    name: "berth_placement_ledger_transactions_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Transactions of writes, refused ones included; with SQLite several writes may share one.",
};
/// `berth_placement_ledger_retries_total`.
pub const RETRIES: Metric = Metric {
    name: "berth_placement_ledger_retries_total",
    kind: Kind::Counter,
    labels: &["reason"],
    help: "Transactions that were begun again: deadlock, serialization, duplicate, moved, connection.",
};
/// `berth_placement_ledger_batch_writes`.
pub const BATCH: Metric = Metric {
    name: "berth_placement_ledger_batch_writes",
    kind: Kind::Histogram,
    labels: &[],
    help: "Writes that shared a transaction.",
};
/// `berth_placement_model_rebuilds_total`.
pub const REBUILDS: Metric = Metric {
    name: "berth_placement_model_rebuilds_total",
    kind: Kind::Counter,
    labels: &[],
    help: "How often the model was built from the database, the first time included.",
};

const BATCHES: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// The counters of a ledger. Clones count together.
#[derive(Clone)]
pub struct LedgerMetrics {
    writes: IntCounterVec,
    transactions: IntCounterVec,
    retries: IntCounterVec,
    batch: HistogramVec,
    rebuilds: IntCounterVec,
}

impl LedgerMetrics {
    /// Registers them.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self {
            writes: metrics.counter(&WRITES)?,
            transactions: metrics.counter(&TRANSACTIONS)?,
            retries: metrics.counter(&RETRIES)?,
            batch: metrics.histogram(&BATCH, &BATCHES)?,
            rebuilds: metrics.counter(&REBUILDS)?,
        })
    }

    /// A transaction of so many writes has ended.
    pub(super) fn transaction(&self, writes: usize) {
        self.transactions.with_label_values::<&str>(&[]).inc();
        #[allow(clippy::cast_precision_loss, reason = "at most 128")]
        self.batch.with_label_values::<&str>(&[]).observe(writes as f64);
    }

    /// A transaction is begun again.
    pub(super) fn retry(&self, reason: &str) {
        self.retries.with_label_values(&[reason]).inc();
    }

    /// The model was built.
    pub(super) fn rebuilt(&self) {
        self.rebuilds.with_label_values::<&str>(&[]).inc();
    }

    /// A write is answered.
    pub(super) fn answered(&self, answer: &Result<Written, Trouble>) {
        use berth_placement_model::refusal::Kind::Conflict;
        let outcome = match answer {
            Ok(_) => "done",
            Err(Trouble::Refused(refusal)) if refusal.kind == Conflict => "conflict",
            Err(Trouble::Refused(_)) => "refused",
            Err(Trouble::Unavailable(_)) => "unavailable",
            Err(Trouble::Unknown(_)) => "unknown",
        };
        self.writes.with_label_values(&[outcome]).inc();
    }
}
