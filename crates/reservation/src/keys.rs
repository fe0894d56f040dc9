//! Names of objects in the store, and of the same slots in the scheduler.

use berth_cluster::ObjectKey;
use berth_core::SlotKey;

pub(crate) fn slot_key(key: &ObjectKey) -> SlotKey {
    SlotKey::new(key.cluster.clone(), &*key.name)
}

pub(crate) fn object_key(key: &SlotKey) -> ObjectKey {
    ObjectKey::new(key.cluster.clone(), key.name.as_str())
}
