//! The key that the syncer reconciles: the UUID of a commitment, whether or not there is an object for it.

use std::fmt;

use berth_cluster::Key;
use berth_core::CommitmentUuid;

/// A commitment, by its UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SyncKey(pub CommitmentUuid);

impl fmt::Display for SyncKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl Key for SyncKey {}
