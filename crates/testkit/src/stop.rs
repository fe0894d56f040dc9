//! Stops clients before or after one of their writes, counted over all servers that have the stop.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::Verb;
use crate::request::Call;

/// The stop of one client or of all. Clones share the stop. Writes of Leases are not counted.
#[derive(Clone, Debug)]
pub struct Stop {
    count: Arc<Mutex<Count>>,
    come: Arc<Notify>,
}

#[derive(Debug)]
struct Count {
    who: Option<String>,
    left: usize,
    /// Whether the write after the counted ones is the end, instead of the last of them.
    before: bool,
    come: bool,
}

/// The relation of a request to a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Met {
    No,
    After,
    Now,
}

impl Stop {
    /// After this many writes have taken effect nothing is answered any more, not even the last of them.
    pub fn after(writes: usize) -> Self {
        Self::new(writes, false)
    }

    /// The `nth` write, counted from 1, is dropped, and nothing is answered any more.
    pub fn before(nth: usize) -> Self {
        Self::new(nth.saturating_sub(1), true)
    }

    /// Limits the stop to this client.
    pub fn of(self, who: &str) -> Self {
        self.lock().who = Some(who.to_owned());
        self
    }

    pub async fn comes(&self) {
        loop {
            let notified = self.come.notified();
            if self.has_come() {
                return;
            }
            notified.await;
        }
    }

    pub fn has_come(&self) -> bool {
        self.lock().come
    }

    fn new(left: usize, before: bool) -> Self {
        let count = Count { who: None, left, before, come: false };
        Self { count: Arc::new(Mutex::new(count)), come: Arc::default() }
    }

    /// Whether this client gets no more answers.
    pub(crate) fn silences(&self, who: &str) -> bool {
        let count = self.lock();
        count.come && count.is_for(who)
    }

    /// Counts a request that has arrived, or is to take effect.
    pub(crate) fn meets(&self, who: &str, call: &Call) -> Met {
        let mut count = self.lock();
        if !count.is_for(who) {
            return Met::No;
        }
        if count.come {
            return Met::After;
        }
        if count.left == 0 && (!count.before || counts(call.verb, &call.path)) {
            self.has(&mut count);
            return Met::Now;
        }
        Met::No
    }

    /// Counts a request with a change. True if its answer is withheld.
    pub(crate) fn took_effect(&self, who: &str, call: &Call) -> bool {
        let mut count = self.lock();
        if !count.is_for(who) || !counts(call.verb, &call.path) {
            return false;
        }
        count.left = count.left.saturating_sub(1);
        if count.left == 0 && !count.before {
            self.has(&mut count);
        }
        count.come
    }

    fn has(&self, count: &mut Count) {
        count.come = true;
        self.come.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.count.lock()
    }
}

impl Count {
    fn is_for(&self, who: &str) -> bool {
        self.who.as_deref().is_none_or(|wanted| wanted == who)
    }
}

/// A leader renews its Lease at times that depend on nothing else.
pub(crate) fn counts(verb: Verb, path: &str) -> bool {
    verb.is_write() && !path.contains("/leases/")
}
