//! Reports a clock that cannot be trusted in `/readyz` and in the log, and requests every commitment when it can be trusted
//! again: what would have ended in the meantime was put off. It is no reason to take a process out of service.

use std::sync::Arc;

use berth_cluster::{ObjectKey, Requests, Store};
use berth_crds::CommittedResource;
use berth_http::Component;
use berth_telemetry::clock::{Clock, UntrustedClock};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::home::EVERY;

const WAITING: &str = "nothing ends and no time counts";

/// Says in `/readyz` whether the clock is trusted until `stop`.
pub(super) async fn show(clock: Arc<dyn Clock>, component: Component, stop: CancellationToken) {
    follow(&*clock, stop, |problem| match problem {
        Some(problem) => {
            warn!(error = %problem, "clock not trusted");
            component.impaired(format!("{WAITING}: {problem}"));
        }
        None => component.ready(),
    })
    .await;
}

/// Requests all commitments when the clock is trusted again, until `stop`.
pub(super) async fn resume(
    clock: Arc<dyn Clock>,
    (commitments, requests): (Store<CommittedResource>, Requests<ObjectKey>),
    stop: CancellationToken,
) {
    follow(&*clock, stop, |problem| {
        if problem.is_none() {
            info!("clock trusted; all commitments are requested");
            requests.add(commitments.all().into_iter().map(|entry| entry.key));
        }
    })
    .await;
}

/// Calls `report` when the clock is not trusted at first, and whenever that changes.
async fn follow(clock: &dyn Clock, stop: CancellationToken, report: impl Fn(Option<UntrustedClock>)) {
    let (mut tick, mut reported) = (interval(EVERY), None);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let problem = clock.trusted_now().err();
        if reported != problem {
            report(problem);
            reported = problem;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};
    use parking_lot::Mutex;

    use super::*;

    struct Scripted(Mutex<Option<UntrustedClock>>);

    impl Clock for Scripted {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn trusted_now(&self) -> berth_telemetry::clock::TrustedTime {
            self.0.lock().map_or(Ok(self.now()), Err)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_change_is_reported_once() {
        let (clock, stop) = (Scripted(Mutex::new(None)), CancellationToken::new());
        let reported = Mutex::new(Vec::new());
        let skewed = Some(UntrustedClock::Skewed(SignedDuration::from_hours(2)));
        let following = follow(&clock, stop.clone(), |problem| reported.lock().push(problem));
        let script = async {
            for problem in [None, skewed, skewed, None, Some(UntrustedClock::NotCompared)] {
                *clock.0.lock() = problem;
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
            stop.cancel();
        };
        tokio::join!(following, script);
        assert_eq!(*reported.lock(), [skewed, None, Some(UntrustedClock::NotCompared)]);
    }
}
