//! One run of a reconciler: the back-off before it, and how its outcome is counted and logged.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{Instrument, Span, debug, info, info_span, warn};

use super::backoff::Backoff;
use super::{Action, ObjectField, Reconciler, Requests, Retry};
use crate::{Classified, ControllerMetrics, ErrorClass, chain};

/// The runs of one reconciler.
pub(crate) struct Runs<R: Reconciler> {
    reconciler: Arc<R>,
    backoff: Arc<Backoff<R::Key>>,
    log_rate_limit: LogRateLimit,
    metrics: Arc<ControllerMetrics>,
    /// Where the state of each key is noted for users.
    requests: Requests<R::Key>,
}

impl<R: Reconciler> Runs<R> {
    pub fn new(reconciler: Arc<R>, retry: Retry, metrics: Arc<ControllerMetrics>, requests: Requests<R::Key>) -> Self {
        let backoff = Arc::new(Backoff::new(retry));
        requests.states().count_failures_in(backoff.clone());
        Self { reconciler, backoff, log_rate_limit: LogRateLimit::default(), metrics, requests }
    }

    /// Reconciles a key, unless it must wait after a failure. A failure is an action, too: to be requeued.
    pub async fn reconcile(&self, key: &R::Key) -> Action {
        self.requests.states().begin(key);
        let action = self.run(key).await;
        self.requests.states().end(key, action.requeue_after());
        action
    }

    async fn run(&self, key: &R::Key) -> Action {
        if let Some(remaining) = self.backoff.remaining(key) {
            return Action::RequeueAfter(remaining);
        }
        let span = span::<R>(key);
        let started_at = Instant::now();
        let outcome = self.reconciler.reconcile(key.clone()).instrument(span.clone()).await;
        self.metrics.duration.with_label_values(&[R::NAME]).observe(started_at.elapsed().as_secs_f64());
        span.in_scope(|| match outcome {
            Ok(action) => self.succeed(key, action),
            Err(error) => self.fail(key, &error),
        })
    }

    fn succeed(&self, key: &R::Key, action: Action) -> Action {
        let cleared = self.backoff.reset(key);
        if cleared.was_logged {
            info!(failures = cleared.count, "reconciliation succeeds again");
        }
        if cleared.count > 0 {
            self.show();
        }
        let outcome = match action {
            Action::AwaitChange => "done",
            Action::RequeueAfter(_) => "requeued",
        };
        self.metrics.runs.with_label_values(&[R::NAME, outcome]).inc();
        action
    }

    fn fail(&self, key: &R::Key, error: &R::Error) -> Action {
        let (class, text) = (error.class(), chain(error));
        let failed = self.backoff.failed(key, class, &text);
        let (failures, seconds) = (failed.count, failed.pause.as_secs_f64());
        if !failed.is_repeated && self.log_rate_limit.allows(class, failures) {
            warn!(%class, error = text, failures, requeue_after_seconds = seconds, "reconciliation failed");
            self.backoff.mark_logged(key);
        } else {
            debug!(%class, error = text, failures, requeue_after_seconds = seconds, "reconciliation failed");
        }
        self.metrics.runs.with_label_values(&[R::NAME, "failed"]).inc();
        self.metrics.failures.with_label_values(&[R::NAME, class.as_str()]).inc();
        self.show();
        Action::RequeueAfter(failed.pause)
    }

    fn show(&self) {
        let number = i64::try_from(self.backoff.len()).unwrap_or(i64::MAX);
        self.metrics.backing_off.with_label_values(&[R::NAME]).set(number);
    }
}

/// The only span that names the object, so that each log line does so once. The names of fields are part of a span.
fn span<R: Reconciler>(key: &R::Key) -> Span {
    match R::OBJECT {
        ObjectField::Commitment => info_span!("reconcile", controller = R::NAME, commitment = %key),
        ObjectField::Slot => info_span!("reconcile", controller = R::NAME, slot = %key),
        ObjectField::Host => info_span!("reconcile", controller = R::NAME, host = %key),
        ObjectField::Reservation => info_span!("reconcile", controller = R::NAME, reservation = %key),
        ObjectField::Pipeline => info_span!("reconcile", controller = R::NAME, pipeline = %key),
        ObjectField::Project => info_span!("reconcile", controller = R::NAME, project = %key),
        ObjectField::Object => info_span!("reconcile", controller = R::NAME, object = %key),
    }
}

/// A function around each run, for simulations that pause a process. Runs are tasks of their own, so pausing the queue does not
/// pause them.
pub type Around = Arc<dyn Fn(BoxFuture<'static, Action>) -> BoxFuture<'static, Action> + Send + Sync>;

// Limits the lines that a controller logs about failures. If a common dependency does not respond, every reconciliation
// fails; a few lines report that as well as thousands, and the state of a single object is in its condition and in the
// metrics.

/// At most so many failures are logged ...
const LINES: u32 = 5;
const PERIOD: Duration = Duration::from_secs(10);
/// A decision on an old state is repeated at once; only when that happens again and again it is worth a line.
const CONFLICTS: u32 = 3;

#[derive(Default)]
pub(super) struct LogRateLimit {
    logged: Mutex<Option<(Instant, u32)>>,
}

impl LogRateLimit {
    /// Whether the `count`th failure in a row of a key is logged, one of this class.
    pub fn allows(&self, class: ErrorClass, count: u32) -> bool {
        (class != ErrorClass::Conflict || count == CONFLICTS) && self.has_a_line_left()
    }

    fn has_a_line_left(&self) -> bool {
        let mut logged = self.logged.lock();
        let (since, lines) = logged.filter(|(since, _)| since.elapsed() < PERIOD).unwrap_or((Instant::now(), 0));
        *logged = Some((since, lines + 1));
        lines < LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_failures_are_logged_by_a_few_lines_per_period() {
        let log_rate_limit = LogRateLimit::default();
        let logged = |n: usize| (0..n).filter(|_| log_rate_limit.allows(ErrorClass::Transient, 1)).count();
        assert_eq!(logged(1000), 5);
        tokio::time::sleep(PERIOD).await;
        assert_eq!(logged(1000), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stale_decision_is_logged_only_when_it_repeats() {
        let log_rate_limit = LogRateLimit::default();
        let logged: Vec<_> = (1..=5).filter(|count| log_rate_limit.allows(ErrorClass::Conflict, *count)).collect();
        assert_eq!(logged, [3]);
    }
}
