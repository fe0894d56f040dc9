//! Applies the events of servers to the snapshot of a checker, and knows which objects cannot be decoded: an operator
//! cannot decode them either.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::{DecodeGuard, Kind};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor, Reservation};
use berth_invariants::{Key, Snapshot, Touched};
use serde_json::Value;

use crate::{Event, Happened};

/// The objects of all kinds that invariants are about.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) snapshot: Snapshot,
    unreadable: BTreeSet<(String, Key)>,
}

impl Objects {
    /// Applies a write; returns `None` for kinds that no invariant is about.
    pub(super) fn follow(&mut self, cluster: &ClusterName, event: &Event) -> Option<Touched> {
        let name = event.object["metadata"]["name"].as_str().unwrap_or_default();
        let key = Key::new(cluster.clone(), name);
        if is::<CommittedResource>(event) {
            let object = self.decoded(&key, event);
            Some(self.snapshot.commitment(&key, object.as_ref()))
        } else if is::<Reservation>(event) {
            let object = self.decoded(&key, event);
            Some(self.snapshot.reservation(&key, object.as_ref()))
        } else if is::<Hypervisor>(event) {
            let object = self.decoded(&key, event);
            Some(self.snapshot.hypervisor(&key, object.as_ref()))
        } else if is::<FlavorGroupCapacity>(event) {
            let object = self.decoded(&key, event);
            Some(self.snapshot.capacity(&key, object.as_ref()))
        } else {
            None
        }
    }

    /// Whether some object of this kind cannot be decoded.
    pub(super) fn are_incomplete<K: Kind>(&self) -> bool {
        self.unreadable.iter().any(|(kind, _)| *kind == path::<K>())
    }

    /// The current object, unless it is deleted or cannot be decoded.
    fn decoded<K: Kind>(&mut self, key: &Key, event: &Event) -> Option<Arc<K>> {
        let there = event.happened == Happened::Applied;
        let read = || serde_json::from_value::<DecodeGuard<K>>(Value::clone(&event.object)).ok()?.into_valid();
        let object = there.then(read).flatten().map(Arc::new);
        let entry = (event.kind.clone(), key.clone());
        if there && object.is_none() {
            self.unreadable.insert(entry);
        } else {
            self.unreadable.remove(&entry);
        }
        object
    }
}

/// Whether the event is about an object of this kind.
pub(super) fn is<K: Kind>(event: &Event) -> bool {
    event.kind == path::<K>()
}

fn path<K: Kind>() -> String {
    K::url_path(&(), None)
}
