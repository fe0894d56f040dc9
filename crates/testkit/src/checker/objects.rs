//! Applies the events of servers to the snapshot of a checker, and knows which objects cannot be decoded: an operator
//! cannot decode them either.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::{DecodeGuard, Kind};
use berth_core::ClusterName;
use berth_crds::{CommitmentChange, CommittedResource, FlavorGroupCapacity, Hypervisor, Reservation};
use berth_invariants::{Key, PublishedInfo, Snapshot, Touched};
use serde_json::Value;

use crate::{Event, Happened};

const CONFIG_MAPS: &str = "/api/v1/configmaps";

/// The name of the `ConfigMap` with the service info.
const LIQUID_INFO: &str = "berth-liquid-info";

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
        } else if is::<CommitmentChange>(event) {
            let object = self.decoded(&key, event);
            Some(self.snapshot.change(&key, object.as_ref()))
        } else if event.kind == CONFIG_MAPS && name == LIQUID_INFO {
            Some(self.snapshot.published(&key, published(event)))
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

/// The info of a map that exists and that can be read.
fn published(event: &Event) -> Option<PublishedInfo> {
    let text = |key: &str| event.object["data"][key].as_str().filter(|_| event.happened == Happened::Applied);
    Some(PublishedInfo { version: text("version")?.parse().ok()?, content: text("info")?.to_owned() })
}

/// Whether the event is about an object of this kind.
pub(super) fn is<K: Kind>(event: &Event) -> bool {
    event.kind == path::<K>()
}

fn path<K: Kind>() -> String {
    K::url_path(&(), None)
}
