//! The key that is reconciled: a project, because its commitments share its VMs.

use std::fmt;

use berth_cluster::Key;
use berth_core::ProjectId;

/// A project, by its UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectKey(pub ProjectId);

impl fmt::Display for ProjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl Key for ProjectKey {}
