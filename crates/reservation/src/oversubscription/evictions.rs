//! Why slots lost their host: what the controller of slots says in place of "cleared". After a restart it says that.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_core::{HostName, Resources};
use parking_lot::Mutex;

/// Why a slot was evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The host that it was on.
    pub host: HostName,
    /// By how much that was over-booked.
    pub excess: Resources,
}

/// Evictions that nothing was said about yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Evictions {
    unsaid: Arc<Mutex<BTreeMap<ObjectKey, Eviction>>>,
}

impl Evictions {
    /// To be called before the slot loses its host: that wakes whoever says so.
    pub(crate) fn note(&self, slot: &ObjectKey, why: Eviction) {
        self.unsaid.lock().insert(slot.clone(), why);
    }

    /// Why this slot was evicted, if it was.
    pub(crate) fn why(&self, slot: &ObjectKey) -> Option<Eviction> {
        self.unsaid.lock().get(slot).cloned()
    }

    /// It was said, or there is nothing to say.
    pub(crate) fn forget(&self, slot: &ObjectKey) {
        self.unsaid.lock().remove(slot);
    }
}
