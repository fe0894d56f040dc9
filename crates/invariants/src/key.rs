//! The key of an object: cluster and name.

use std::fmt;
use std::sync::Arc;

use berth_core::ClusterName;

/// An object of a kind. Orders by cluster, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub cluster: ClusterName,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(cluster: ClusterName, name: impl Into<Arc<str>>) -> Self {
        Self { cluster, name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.name)
    }
}
