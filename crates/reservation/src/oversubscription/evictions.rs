//! Why slots lost their host: the controller of slots reports this reason instead of "cleared". After a restart it
//! reports "cleared".

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_core::{HostName, Resources};
use parking_lot::Mutex;

/// Why a slot was evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    pub host: HostName,
    pub excess: Resources,
}

/// Evictions that are not reported yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Evictions {
    unsaid: Arc<Mutex<BTreeMap<ObjectKey, Eviction>>>,
}

impl Evictions {
    /// To be called before the slot loses its host: that enqueues the slot.
    pub(crate) fn note(&self, slot: &ObjectKey, why: Eviction) {
        self.unsaid.lock().insert(slot.clone(), why);
    }

    /// Why this slot was evicted, if it was.
    pub(crate) fn why(&self, slot: &ObjectKey) -> Option<Eviction> {
        self.unsaid.lock().get(slot).cloned()
    }

    /// It was reported, or need not be.
    pub(crate) fn forget(&self, slot: &ObjectKey) {
        self.unsaid.lock().remove(slot);
    }
}
