//! The key of an object: cluster and name. All kinds that Berth reads and writes are cluster scoped; equal names in two
//! clusters are two objects.

use std::fmt;
use std::sync::Arc;

use berth_core::{ClusterName, SlotKey};

/// The cluster and the name of an object. Orders by cluster, then by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectKey {
    pub cluster: ClusterName,
    pub name: Arc<str>,
}

impl ObjectKey {
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
