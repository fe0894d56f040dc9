//! Writes Histories, and events instead of them where the kind is not installed.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Event, EventKind, Events, FirstSeen, ObjectKey, Right, RouteError, Routes, Store, Verb, WriteError, Writer,
    Written, chain,
};
use berth_core::ClusterName;
use berth_crds::conditions::history as texts;
use berth_crds::{History, Reservation, names};
use berth_scheduler::{Booking, Request};
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use kube::Resource;
use parking_lot::Mutex;
use prometheus::IntCounterVec;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::decided::is_recorded;
use super::limit::HistoryLimit;
use super::{HistoryDecision, RunResult, decided, new, next};
use crate::Outcome;
use crate::bounded_queue::{self, BoundedQueue};

/// Decisions that may wait to be written.
const QUEUE: usize = 1024;
/// How often an object is read again because another client has written it.
const ATTEMPTS: usize = 3;
/// For so long a kind that was not installed is taken for not installed.
const NOT_INSTALLED: Duration = Duration::from_secs(60);

const HISTORIES: Metric = Metric {
    name: "berth_histories_total",
    kind: Kind::Counter,
    labels: &["outcome"],
    help: "Decisions to be remembered, by outcome: written, not_installed (the kind History is missing), no_name (the id \
           of the workload cannot be part of a name), limited (too many of one workload or of all), queue_full or failed.",
};

/// The metrics of histories.
#[derive(Clone, Debug)]
pub struct HistoryMetrics {
    histories: IntCounterVec,
}

impl HistoryMetrics {
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self { histories: metrics.counter(&HISTORIES)? })
    }

    fn count(&self, outcome: &str) {
        self.histories.with_label_values(&[outcome]).inc();
    }
}

/// The dependencies for writing histories.
pub struct HistoryParts {
    /// Writes Histories while the process leads. Nothing is kept in its store, which need not be fed.
    pub writer: Writer<History>,
    /// Which cluster the History of a zone belongs to.
    pub routes: Routes,
    pub reservations: Store<Reservation>,
    pub events: Events,
    pub clock: Arc<dyn Clock>,
    pub metrics: HistoryMetrics,
}

/// Takes note of decisions. Clones share the queue.
#[derive(Clone, Debug)]
pub struct Histories {
    queue: BoundedQueue<Outcome>,
    limit: Arc<Mutex<HistoryLimit>>,
    metrics: HistoryMetrics,
}

impl Histories {
    /// The rights for histories. To write them, they are read one at a time and not watched.
    pub fn rights() -> Vec<Right> {
        vec![
            Right::kind::<History>(&[Verb::Get, Verb::Create])
                .optional()
                .because("What was decided about VMs, one object each, which is read when there is a new decision."),
            Right::status::<History>(&[Verb::Patch]).optional().because("The last decisions about a VM."),
            Right::events_about::<History>().because("Events about decisions."),
            Right::events_about::<Reservation>().because("Events about slots."),
        ]
    }

    /// The place to leave decisions at, and the work behind it, which runs until `stop`.
    pub fn new(parts: HistoryParts, stop: CancellationToken) -> (Self, impl Future<Output = ()> + Send) {
        let (queue, waiting) = BoundedQueue::new(QUEUE);
        let metrics = parts.metrics.clone();
        let scribe = Arc::new(HistoryWriter { parts, missing: FirstSeen::default() });
        let work = bounded_queue::work(waiting, 1, stop, move |outcome: Outcome| {
            let scribe = scribe.clone();
            async move { scribe.take(&outcome).await }
        });
        let limit = Arc::new(Mutex::new(HistoryLimit::new(Instant::now())));
        (Self { queue, limit, metrics }, work)
    }

    /// Whether a decision about the request is to be remembered.
    pub fn remembers(&self, request: &Request) -> bool {
        !request.options.skip_history && !request.options.read_only
    }

    /// Takes note of a decision. Never waits; when there are too many, some are dropped.
    pub fn take(&self, outcome: &Outcome) {
        if !is_recorded(outcome) {
            return;
        }
        if !self.limit.lock().admit(outcome.request.instance.as_str(), Instant::now()) {
            return self.metrics.count("limited");
        }
        if self.queue.put(outcome.clone()).is_err() {
            self.metrics.count("queue_full");
        }
    }
}

/// Why a History was not written.
#[derive(Debug, thiserror::Error)]
enum HistoryError {
    #[error("others write it all the time")]
    Contended,
    #[error(transparent)]
    Write(#[from] WriteError),
}

struct HistoryWriter {
    parts: HistoryParts,
    /// The clusters that did not know the kind, and until when that is believed.
    missing: FirstSeen<ClusterName>,
}

impl HistoryWriter {
    async fn take(&self, outcome: &Outcome) {
        let Some(decided) = decided(outcome) else { return };
        let booking = outcome.result.as_ref().ok().and_then(|answer| answer.booking.as_ref());
        let result = self.remember(&decided, booking).await;
        self.parts.metrics.count(result);
    }

    async fn remember(&self, decided: &HistoryDecision, booking: Option<&Booking>) -> &'static str {
        let Some(name) = names::history(&decided.resource) else {
            debug!(resource = decided.resource, "no history: the id is not a valid object name");
            return "no_name";
        };
        let key = match self.key(&name, decided) {
            Ok(key) => key,
            Err(error) => {
                debug!(name, error = %error, "no history: no cluster has its zone");
                return "failed";
            }
        };
        if self.is_missing(&key.cluster) {
            self.log_slot(decided, booking);
            return "not_installed";
        }
        match self.write(&key, decided).await {
            Ok(history) => {
                self.missing.forget(&key.cluster);
                self.parts.events.publish(&key.cluster, &history.object_ref(&()), event(decided, &decided.explanation));
                "written"
            }
            Err(HistoryError::Write(WriteError::NotServed { .. })) => {
                self.mark_absent(&key.cluster);
                self.log_slot(decided, booking);
                "not_installed"
            }
            Err(error) => {
                debug!(object = %key, error = chain(&error), "no history");
                "failed"
            }
        }
    }

    fn key(&self, name: &str, decided: &HistoryDecision) -> Result<ObjectKey, RouteError> {
        let cluster = self.parts.routes.target::<History>(Some(&decided.zone))?;
        Ok(ObjectKey::new(cluster, name))
    }

    /// Reads the object, or creates it, and replaces its status.
    async fn write(&self, key: &ObjectKey, decided: &HistoryDecision) -> Result<Arc<History>, HistoryError> {
        let writer = self.parts.writer.without_limiter();
        for _ in 0..ATTEMPTS {
            writer.settle(key).await?;
            let found = match writer.store().get(key) {
                Some(object) => object,
                None => match writer.create(&key.cluster, &new(&key.name, decided)).await {
                    Ok(object) => object,
                    Err(WriteError::AlreadyExists { .. }) => continue,
                    Err(error) => return Err(error.into()),
                },
            };
            let mut object = History::clone(&found);
            object.status = Some(next(&found, decided, self.parts.clock.now()));
            match writer.patch_status(key, &found, &object).await {
                Ok(Written::Changed(object)) => return Ok(object),
                Ok(Written::Unchanged) => return Ok(found),
                Ok(Written::Gone) | Err(WriteError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(HistoryError::Contended)
    }

    fn is_missing(&self, cluster: &ClusterName) -> bool {
        self.missing.held_for(cluster, Instant::now()).is_some_and(|since| since < NOT_INSTALLED)
    }

    fn mark_absent(&self, cluster: &ClusterName) {
        if !self.missing.restart(cluster, Instant::now()) {
            info!(%cluster, "kind History not installed; decisions about VMs are reported as events of slots only");
        }
    }

    fn log_slot(&self, decided: &HistoryDecision, booking: Option<&Booking>) {
        let Some(booking) = booking else { return };
        let (vm, slot) = (&booking.vm, &booking.slot);
        let key = ObjectKey::new(slot.cluster.clone(), slot.name.as_str());
        let Some(object) = self.parts.reservations.get(&key) else { return };
        let note = format!("VM {vm} is expected in this slot.\n\n{}", decided.explanation);
        self.parts.events.publish(&key.cluster, &object.object_ref(&()), event(decided, &note));
    }
}

fn event(decided: &HistoryDecision, note: &str) -> Event {
    let (kind, reason, action) = match decided.verdict {
        RunResult::Selected(_) => (EventKind::Normal, texts::SCHEDULING_SUCCEEDED, texts::SCHEDULED),
        RunResult::NoHost | RunResult::Failed(_) => {
            (EventKind::Warning, texts::SCHEDULING_FAILED, texts::FAILED_SCHEDULING)
        }
    };
    Event { kind, reason: reason.to_owned(), action: action.to_owned(), note: note.to_owned() }
}
