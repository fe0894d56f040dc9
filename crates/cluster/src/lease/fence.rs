//! Whether a write may be sent now (decision D10). It decides nothing about who leads: the election says from when the
//! lease counts, and the monotonic clock says how much of it is left.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use thiserror::Error;
use tokio::time::Instant;

use super::step::{TIMING, may_write};
use crate::{connect::WRITE_DEADLINE, lock::lock};

/// This process must not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this process does not lead, or too little of its lease is left; whoever leads does it")]
pub struct NotLeader;

/// Tells whether this process may write. Clones share the answer.
#[derive(Clone, Default)]
pub struct Fence {
    term: Option<Arc<Term>>,
}

/// From when on the lease counts, and what was sent under it.
pub(super) struct Term {
    start: Instant,
    held: Mutex<Option<Duration>>,
    unanswered: Mutex<Unanswered>,
}

/// Writes that may still take effect.
#[derive(Default)]
struct Unanswered {
    under_way: usize,
    /// When the last one was given up without an answer.
    given_up: Option<Duration>,
}

/// A write on its way. Unless it was answered, it counts as given up when this is dropped.
pub(super) struct Sending {
    term: Option<Arc<Term>>,
    answered: bool,
}

impl Term {
    pub fn new() -> Self {
        Self { start: Instant::now(), held: Mutex::new(None), unanswered: Mutex::default() }
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
        *lock(&self.held) = since;
    }

    /// From when on no write that was sent so far can take effect any more: at once, if all of them were answered.
    pub fn settled_at(&self) -> Duration {
        let unanswered = lock(&self.unanswered);
        match (unanswered.under_way, unanswered.given_up) {
            (0, None) => Duration::ZERO,
            (0, Some(given_up)) => given_up + TIMING.margin,
            _ => self.now() + WRITE_DEADLINE + TIMING.margin,
        }
    }

    fn is_open(&self) -> bool {
        // The clock is read after the lease, so that waiting for the lock does not lend time.
        let held = *lock(&self.held);
        may_write(held, self.now(), &TIMING)
    }
}

impl Fence {
    /// For a process that leads by definition, because there is only one.
    pub fn open() -> Self {
        Self::default()
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

    /// To be taken before a write is sent.
    pub(super) fn sends(&self) -> Result<Sending, NotLeader> {
        self.check()?;
        if let Some(term) = &self.term {
            lock(&term.unanswered).under_way += 1;
        }
        Ok(Sending { term: self.term.clone(), answered: false })
    }

    /// True if it never refuses.
    pub(crate) fn is_always_open(&self) -> bool {
        self.term.is_none()
    }
}

impl Sending {
    /// The API server has said what became of it.
    pub fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Some(term) = &self.term else { return };
        let mut unanswered = lock(&term.unanswered);
        unanswered.under_way = unanswered.under_way.saturating_sub(1);
        if !self.answered {
            unanswered.given_up = Some(term.now());
        }
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
    async fn what_was_sent_is_settled_when_it_was_answered_or_can_not_take_effect_any_more() {
        let term = Arc::new(Term::new());
        term.hold(Some(Duration::ZERO));
        let fence = Fence::of(term.clone());
        let settled = || term.settled_at().saturating_sub(term.now());
        assert_eq!(settled(), Duration::ZERO);
        let (first, second) = (fence.sends().unwrap(), fence.sends().unwrap());
        advance(Duration::from_secs(1)).await;
        assert_eq!(settled(), Duration::from_secs(9));
        first.answered();
        assert_eq!(settled(), Duration::from_secs(9), "one is still under way");
        second.answered();
        assert_eq!(settled(), Duration::ZERO);
        drop(fence.sends().unwrap());
        advance(Duration::from_secs(1)).await;
        fence.sends().unwrap().answered();
        assert_eq!(settled(), Duration::from_secs(4), "one was given up a second ago");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_lease_nothing_is_written_and_without_election_everything() {
        let (fence, lose) = Fence::held_now();
        lose();
        assert_eq!(fence.clone().check(), Err(NotLeader));
        advance(Duration::from_secs(3600)).await;
        assert_eq!(Fence::open().check(), Ok(()));
    }
}
