//! Where an object lives and what it is called.

use std::fmt;
use std::sync::Arc;

use berth_core::ClusterName;

/// An object of a kind. Orders by cluster, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The cluster that holds it.
    pub cluster: ClusterName,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl Key {
    /// The object `name` of `cluster`.
    pub fn new(cluster: ClusterName, name: impl Into<Arc<str>>) -> Self {
        Self { cluster, name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.name)
    }
}
