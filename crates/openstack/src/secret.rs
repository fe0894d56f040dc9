//! Secrets of Kubernetes: their names and values.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Namespace and name of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    pub namespace: String,
    pub name: String,
}

impl Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The values of a Secret by their keys.
pub type SecretValues = BTreeMap<String, Vec<u8>>;
