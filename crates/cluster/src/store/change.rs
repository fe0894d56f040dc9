//! Entries of a store and changes of them.

use std::sync::Arc;

use crate::{Kind, ObjectKey};

/// An object and its key.
#[derive(Clone, Debug)]
pub struct Entry<K> {
    /// The cluster and the name of the object.
    pub key: ObjectKey,
    pub object: Arc<K>,
}

/// A change of one object. `old` and `new` are the last valid states. They are the same if the object has become valid
/// or invalid without a change of its last valid state, and both are `None` if the object was never valid: then see
/// [`crate::Store::invalid_entries`].
#[derive(Clone, Debug)]
pub struct Change<K> {
    pub key: ObjectKey,
    pub old: Option<Arc<K>>,
    pub new: Option<Arc<K>>,
}

impl<K: Kind> Change<K> {
    /// The newest state of the object does not decode, or its deletion is all that is known of it.
    pub fn is_of_invalid(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (old, new) => old.is_none() && new.is_none(),
        }
    }

    pub fn is_of_spec(&self) -> bool {
        let version = |object: &Option<Arc<K>>| {
            object.as_ref().map(|object| (object.meta().uid.clone(), object.meta().generation))
        };
        let new = version(&self.new);
        new.is_none() || version(&self.old) != new
    }
}
