//! Where clients come to their end: before or after one of their writes, counted over all servers that were told of it. It
//! decides whether a request comes after that; what becomes of it then is decided in `service`.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::Verb;
use crate::request::Call;

/// The end of one client or of all. Clones are about the same end. Writes of Leases are not counted.
#[derive(Clone, Debug)]
pub struct Stop {
    count: Arc<Mutex<Count>>,
    come: Arc<Notify>,
}

#[derive(Debug)]
struct Count {
    who: Option<String>,
    /// How many writes may still take effect.
    left: usize,
    /// The write after them is the end, and not the last of them.
    before: bool,
    come: bool,
}

/// What a request is to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Met {
    /// It is served.
    No,
    /// The end had come before.
    After,
    /// It is the end.
    Now,
}

impl Stop {
    /// After so many writes have taken effect nothing is answered any more, not even the last of them.
    pub fn after(writes: usize) -> Self {
        Self::new(writes, false)
    }

    /// The `nth` write, counted from 1, does not arrive, and nothing is answered any more.
    pub fn before(nth: usize) -> Self {
        Self::new(nth.saturating_sub(1), true)
    }

    /// Of this client only.
    pub fn of(self, who: &str) -> Self {
        self.lock().who = Some(who.to_owned());
        self
    }

    /// Waits for it.
    pub async fn comes(&self) {
        loop {
            let notified = self.come.notified();
            if self.has_come() {
                return;
            }
            notified.await;
        }
    }

    /// Whether it has come.
    pub fn has_come(&self) -> bool {
        self.lock().come
    }

    fn new(left: usize, before: bool) -> Self {
        let count = Count { who: None, left, before, come: false };
        Self { count: Arc::new(Mutex::new(count)), come: Arc::default() }
    }

    /// True if this client is not answered any more.
    pub(crate) fn silences(&self, who: &str) -> bool {
        let count = self.lock();
        count.come && count.is_for(who)
    }

    /// A request has arrived, or is to take effect.
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

    /// A request has changed something. True if it is not answered for that.
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

/// Whoever leads renews its Lease again and again, at times that depend on nothing else.
pub(crate) fn counts(verb: Verb, path: &str) -> bool {
    verb.is_write() && !path.contains("/leases/")
}
