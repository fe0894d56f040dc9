//! The keys that somebody wants to be looked at: a set, so it is never larger than the number of objects, however many
//! events there are. While nobody looks, on a replica that does not lead, nothing is collected.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{Stream, stream};
use tokio::sync::Notify;

use crate::{ObjectKey, lock::lock};

/// Collects wake-ups for one controller. They wait here until the controller takes them.
#[derive(Debug, Default)]
pub struct Wakeups {
    keys: Mutex<BTreeSet<ObjectKey>>,
    some: Notify,
    closed: AtomicBool,
}

impl Wakeups {
    /// Nobody is to be woken yet.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The same, but nothing is collected before [`Wakeups::open`].
    pub fn closed() -> Arc<Self> {
        Arc::new(Self { closed: AtomicBool::new(true), ..Self::default() })
    }

    /// From now on wake-ups are collected. Whoever opens asks for a look at everything that there is.
    pub fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    /// Asks for a look at this object. Cheap, never blocks; asking twice before the look is asking once.
    pub fn wake(&self, key: &ObjectKey) {
        if self.closed.load(Ordering::SeqCst) {
            return;
        }
        if lock(&self.keys).insert(key.clone()) {
            self.some.notify_one();
        }
    }

    /// How many objects wait to be taken by the controller.
    pub fn len(&self) -> usize {
        lock(&self.keys).len()
    }

    /// True if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys as they come; for one reader.
    pub(super) fn stream(self: Arc<Self>) -> impl Stream<Item = ObjectKey> + Send {
        stream::unfold(self, |wakeups| async move {
            loop {
                let next = lock(&wakeups.keys).pop_first();
                match next {
                    Some(key) => return Some((key, wakeups)),
                    None => wakeups.some.notified().await,
                }
            }
        })
    }
}
