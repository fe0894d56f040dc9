//! Decides whether a write may be sent now, from the time that the lease counts from and the monotonic clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use super::step::{TIMING, may_write};

/// This process must not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this process does not lead, or too little of its lease is left; the leader does it")]
pub struct NotLeader;

/// Tells whether this process may write. Clones share the answer.
#[derive(Clone, Default)]
pub struct Fence {
    term: Option<Arc<Term>>,
}

/// From when on the lease counts.
pub(super) struct Term {
    start: Instant,
    held: Mutex<Option<Duration>>,
    under_way: Mutex<UnderWay>,
}

/// Writes that were sent and may not have landed yet.
#[derive(Default)]
struct UnderWay {
    unanswered: usize,
    /// When the last one was given up, or failed.
    given_up: Option<Duration>,
}

/// A write under way. It counts as given up if it is dropped without an answer.
pub(super) struct Sending {
    term: Option<Arc<Term>>,
    answered: bool,
}

impl Sending {
    pub fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Some(term) = &self.term else { return };
        let mut under_way = term.under_way.lock();
        under_way.unanswered -= 1;
        if !self.answered {
            under_way.given_up = Some(term.now());
        }
    }
}

impl Term {
    pub fn new() -> Self {
        Self { start: Instant::now(), held: Mutex::new(None), under_way: Mutex::default() }
    }

    /// The monotonic clock of the election: since the start of the process, roughly.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    pub fn at(&self, time: Duration) -> Instant {
        self.start + time
    }

    /// The sending of the last renewal that is known to have succeeded; none, if this process does not lead.
    pub fn hold(&self, since: Option<Duration>) {
        *self.held.lock() = since;
    }

    /// Until when a write may land, if the fence is closed from now on.
    pub fn landed(&self) -> Duration {
        let (under_way, now) = (self.under_way.lock(), self.now());
        let last = if under_way.unanswered > 0 { Some(now) } else { under_way.given_up };
        last.map_or(now, |last| last + TIMING.margin)
    }

    fn is_open(&self) -> bool {
        // The clock is read after the lease, so that waiting for the lock does not lend time.
        let held = *self.held.lock();
        may_write(held, self.now(), &TIMING)
    }
}

impl Fence {
    /// For a process that leads by definition, because there is only one.
    pub fn open() -> Self {
        Self::default()
    }

    /// For a process that only reads: it never leads, so nothing is ever written.
    pub fn closed() -> Self {
        Self::of(Arc::new(Term::new()))
    }

    pub(super) fn of(term: Arc<Term>) -> Self {
        Self { term: Some(term) }
    }

    /// Refuses if this process does not lead, or if less than 5 s of its lease are left.
    pub fn check(&self) -> Result<(), NotLeader> {
        match &self.term {
            Some(term) if !term.is_open() => Err(NotLeader),
            _ => Ok(()),
        }
    }

    pub(super) fn sending(&self) -> Sending {
        if let Some(term) = &self.term {
            term.under_way.lock().unanswered += 1;
        }
        Sending { term: self.term.clone(), answered: false }
    }

    /// True if it never refuses.
    pub(crate) fn is_always_open(&self) -> bool {
        self.term.is_none()
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("open", &self.check().is_ok()).finish()
    }
}

#[cfg(test)]
impl Fence {
    /// A fence over a lease that was renewed now, and the way to take it away.
    pub(crate) fn held_now() -> (Self, impl Fn() + Send + Sync + 'static) {
        let term = Arc::new(Term::new());
        term.hold(Some(term.now()));
        (Self::of(term.clone()), move || term.hold(None))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lease_allows_writes_until_five_seconds_before_its_end() {
        let (fence, _) = Fence::held_now();
        advance(Duration::from_secs(10)).await;
        assert_eq!(fence.check(), Ok(()));
        advance(Duration::from_millis(1)).await;
        assert_eq!(fence.check(), Err(NotLeader));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_lease_nothing_is_written_and_without_election_everything() {
        let (fence, lose) = Fence::held_now();
        lose();
        assert_eq!(fence.clone().check(), Err(NotLeader));
        advance(Duration::from_secs(3600)).await;
        assert_eq!((Fence::open().check(), Fence::closed().check()), (Ok(()), Err(NotLeader)));
    }
}
