//! The metrics of the syncer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use jiff::Timestamp;
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};
use strum::IntoEnumIterator as _;

use crate::filter::SkipReason;
use crate::plan::EndKind;

const ERRORS: Metric = counter(
    "cortex_committed_resource_syncer_errors_total",
    &[],
    "Runs that failed, or in which the commitments of a project could not be read.",
);
const DURATION: Metric = Metric {
    name: "cortex_committed_resource_syncer_duration_seconds",
    kind: Kind::Histogram,
    labels: &[],
    help: "How long a run has taken, failed ones included.",
};
const ACTIVE: Metric = gauge(
    "cortex_committed_resource_syncer_limes_commitments_active",
    "Commitments of ours that Limes listed in the last run, those that have ended included.",
);
const UNMATCHED: Metric = gauge(
    "cortex_committed_resource_syncer_crd_unmatched",
    "Commitments that have not ended and that Limes did not list in the last run, without those of projects that could not \
     be read.",
);
const SKIPPED: Metric = counter(
    "cortex_committed_resource_syncer_commitments_skipped_total",
    &["reason"],
    "Commitments of Limes that were not compared, by reason.",
);
const CREATES: Metric =
    counter("cortex_committed_resource_syncer_cr_creates_total", &[], "Commitments that the syncer created.");
const UPDATES: Metric =
    counter("cortex_committed_resource_syncer_cr_updates_total", &[], "Commitments that the syncer corrected.");
const DELETES: Metric = counter(
    "cortex_committed_resource_syncer_cr_deletes_total",
    &[],
    "Commitments that the syncer deleted because their end had passed.",
);
const ENDED: Metric = counter(
    "berth_limes_syncer_ended_total",
    &["reason"],
    "Commitments that the syncer set to superseded: unknown_to_limes (created by a change and never listed) or stale \
     (endStaleCommitments).",
);
const WRITE_ERRORS: Metric =
    counter("berth_limes_syncer_write_errors_total", &[], "Comparisons of commitments whose result was not written.");
const UNREAD: Metric = gauge(
    "berth_limes_syncer_projects_unread",
    "Projects whose commitments could not be read in the last run, those that Limes does not know included.",
);
const COMPLETE: Metric = gauge(
    "berth_limes_syncer_view_complete",
    "1 if the last run has read everything; only then something is ended or deleted.",
);
const LAST_SUCCESS: Metric = gauge(
    "berth_limes_syncer_last_success_timestamp_seconds",
    "When the last run without an error ended; while there was none, when the first run began. Without a series: this \
     process does not run the syncer.",
);

/// Bounds of the histogram, in seconds.
const BUCKETS: [f64; 7] = [0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0];

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, labels, help }
}

const fn gauge(name: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, labels: &[], help }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Created,
    Updated,
    Deleted,
    Failed,
}

/// Figures of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunFigures {
    pub(crate) usable: usize,
    pub(crate) unmatched: usize,
    pub(crate) unread: usize,
    pub(crate) is_complete: bool,
    pub(crate) skipped: BTreeMap<SkipReason, u64>,
}

/// Counts what the syncer does. Clones share their values.
#[derive(Clone, Debug)]
pub struct SyncMetrics {
    errors: IntCounterVec,
    duration: HistogramVec,
    active: IntGaugeVec,
    unmatched: IntGaugeVec,
    skipped: IntCounterVec,
    writes: [IntCounterVec; 4],
    ended: IntCounterVec,
    unread: IntGaugeVec,
    complete: IntGaugeVec,
    /// 0 while this process has begun no run.
    last_success: Arc<AtomicI64>,
}

impl SyncMetrics {
    /// Registers them; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let last_success = Arc::new(AtomicI64::new(0));
        let shown = last_success.clone();
        metrics.computed(&LAST_SUCCESS, move || show_time(shown.load(Ordering::Relaxed)))?;
        let all = Self {
            errors: metrics.counter(&ERRORS)?,
            duration: metrics.histogram(&DURATION, &BUCKETS)?,
            active: metrics.gauge(&ACTIVE)?,
            unmatched: metrics.gauge(&UNMATCHED)?,
            skipped: metrics.counter(&SKIPPED)?,
            writes: [
                metrics.counter(&CREATES)?,
                metrics.counter(&UPDATES)?,
                metrics.counter(&DELETES)?,
                metrics.counter(&WRITE_ERRORS)?,
            ],
            ended: metrics.counter(&ENDED)?,
            unread: metrics.gauge(&UNREAD)?,
            complete: metrics.gauge(&COMPLETE)?,
            last_success,
        };
        all.show_zeros();
        Ok(all)
    }

    /// Counters exist from the start, so that their first increase is seen.
    fn show_zeros(&self) {
        for single in [&self.errors].into_iter().chain(&self.writes) {
            single.with_label_values(&[""; 0]).inc_by(0);
        }
        for reason in SkipReason::iter() {
            self.skipped.with_label_values(&[<&str>::from(reason)]).inc_by(0);
        }
        for kind in [EndKind::UnknownToLimes, EndKind::Stale] {
            self.ended.with_label_values(&[<&str>::from(kind)]).inc_by(0);
        }
    }

    pub(crate) fn begin(&self, now: Timestamp) {
        // It stays as it is from the second run on.
        let _ = self.last_success.compare_exchange(0, now.as_second(), Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn took(&self, time: Duration) {
        self.duration.with_label_values(&[""; 0]).observe(time.as_secs_f64());
    }

    pub(crate) fn failed(&self) {
        self.errors.with_label_values(&[""; 0]).inc();
    }

    pub(crate) fn succeeded(&self, now: Timestamp) {
        self.last_success.store(now.as_second(), Ordering::Relaxed);
    }

    pub(crate) fn show(&self, figures: &RunFigures) {
        let none = &[""; 0];
        self.active.with_label_values(none).set(whole(figures.usable));
        self.unmatched.with_label_values(none).set(whole(figures.unmatched));
        self.unread.with_label_values(none).set(whole(figures.unread));
        self.complete.with_label_values(none).set(figures.is_complete.into());
        for (reason, count) in &figures.skipped {
            self.skipped.with_label_values(&[<&str>::from(*reason)]).inc_by(*count);
        }
    }

    pub(crate) fn skip(&self, reason: SkipReason) {
        self.skipped.with_label_values(&[<&str>::from(reason)]).inc();
    }

    pub(crate) fn count(&self, what: Counted) {
        self.writes[what as usize].with_label_values(&[""; 0]).inc();
    }

    pub(crate) fn count_end(&self, kind: EndKind) {
        self.ended.with_label_values(&[<&str>::from(kind)]).inc();
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds are far below 2^53")]
fn show_time(seconds: i64) -> Vec<(Vec<String>, f64)> {
    if seconds == 0 { Vec::new() } else { vec![(Vec::new(), seconds as f64)] }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
