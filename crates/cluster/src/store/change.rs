//! Objects of a store, and what happens to them.

use std::sync::Arc;

use crate::{Kind, ObjectKey};

/// An object and its key.
#[derive(Clone, Debug)]
pub struct Entry<K> {
    /// Where it lives and what it is called.
    pub key: ObjectKey,
    /// The object itself.
    pub object: Arc<K>,
}

/// What happened to one object.
///
/// `old` and `new` are the last readable states. They are the same when an object has begun or ceased to be malformed
/// without a readable change, and both `None` when an object was never readable: look at [`crate::Store::malformed`] then.
#[derive(Clone, Debug)]
pub struct Change<K> {
    /// Which object.
    pub key: ObjectKey,
    /// What was there before.
    pub old: Option<Arc<K>>,
    /// What is there now.
    pub new: Option<Arc<K>>,
}

impl<K: Kind> Change<K> {
    /// Whether more than the status has changed.
    pub fn is_of_spec(&self) -> bool {
        let version = |object: &Option<Arc<K>>| {
            object.as_ref().map(|object| (object.meta().uid.clone(), object.meta().generation))
        };
        let new = version(&self.new);
        new.is_none() || version(&self.old) != new
    }
}
