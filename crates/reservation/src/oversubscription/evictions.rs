//! What the controller of slots must know about evictions: it reports why slots lost their host, and which slots the
//! disruption limit keeps on an over-booked host. After a restart it reports "cleared", and changes no condition of a
//! slot whose host was not decided on again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_cluster::{ObjectKey, Stopped};
use berth_core::{HostName, Resources};
use parking_lot::Mutex;

/// Why a slot was evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    pub host: HostName,
    pub excess: Resources,
}

/// Evictions that are not reported yet, and those that were stopped. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Evictions {
    unsaid: Arc<Mutex<BTreeMap<ObjectKey, Eviction>>>,
    verdicts: Arc<Mutex<Verdicts>>,
}

#[derive(Debug, Default)]
struct Verdicts {
    /// The controller of hosts runs and may evict, so hosts are decided on sooner or later.
    are_expected: bool,
    by_host: BTreeMap<HostName, Option<StoppedEviction>>,
}

/// An eviction that the disruption limit has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoppedEviction {
    pub slots: BTreeSet<ObjectKey>,
    pub stopped: Stopped,
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

    /// From now on each host is decided on.
    pub(crate) fn expect_verdicts(&self) {
        self.verdicts.lock().are_expected = true;
    }

    /// The host was decided on: its eviction was stopped, or nothing keeps its slots there.
    pub(crate) fn decide(&self, host: &HostName, stopped: Option<StoppedEviction>) {
        self.verdicts.lock().by_host.insert(host.clone(), stopped);
    }

    /// The host is gone.
    pub(crate) fn forget_host(&self, host: &HostName) {
        self.verdicts.lock().by_host.remove(host);
    }

    /// Why the slot may not leave this host, if the disruption limit keeps it there.
    pub(crate) fn stopped(&self, slot: &ObjectKey, host: &HostName) -> Option<Stopped> {
        let verdicts = self.verdicts.lock();
        let eviction = verdicts.by_host.get(host)?.as_ref()?;
        eviction.slots.contains(slot).then(|| eviction.stopped.clone())
    }

    /// Whether this process has yet to decide on the host.
    pub(crate) fn is_undecided(&self, host: &HostName) -> bool {
        let verdicts = self.verdicts.lock();
        verdicts.are_expected && !verdicts.by_host.contains_key(host)
    }
}
