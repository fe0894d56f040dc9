//! The key of controllers whose objects share something of a project, for example its VMs.

use std::fmt;

use berth_core::ProjectId;

use crate::Key;

/// A project, by its UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectKey(pub ProjectId);

impl From<&str> for ProjectKey {
    fn from(project: &str) -> Self {
        Self(project.into())
    }
}

impl fmt::Display for ProjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl Key for ProjectKey {}
