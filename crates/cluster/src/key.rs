//! The key of an object: its cluster and its name. All kinds that Berth reads and writes are cluster scoped, so there
//! is no namespace; equal names in two clusters are two objects.

use std::fmt;
use std::sync::Arc;

use berth_core::{ClusterName, SlotKey};

/// Where an object lives and what it is called. Orders by cluster, then by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectKey {
    /// The cluster that holds the object.
    pub cluster: ClusterName,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The object `name` of `cluster`.
    pub fn new(cluster: ClusterName, name: impl Into<Arc<str>>) -> Self {
        Self { cluster, name: name.into() }
    }
}

impl From<&SlotKey> for ObjectKey {
    fn from(key: &SlotKey) -> Self {
        Self::new(key.cluster.clone(), key.name.as_str())
    }
}

impl From<&ObjectKey> for SlotKey {
    fn from(key: &ObjectKey) -> Self {
        Self::new(key.cluster.clone(), &*key.name)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_cluster_then_name_and_prints_both() {
        let mut keys = [("b", "a"), ("a", "z"), ("a", "b")].map(|(c, n)| ObjectKey::new(c.into(), n));
        keys.sort();
        assert_eq!(keys.map(|k| k.to_string()), ["a/b", "a/z", "b/a"]);
    }
}
