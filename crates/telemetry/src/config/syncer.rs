//! The syncer that repairs commitments from Limes' view.

use std::time::Duration;

use super::section::{Zero, seconds};
use super::settings::settings;

settings! {
    /// Settings of `commitments-sync-task`, all on the top level.
    pub struct Syncer = read(s) {
        /// Period in which the syncer fetches Limes' view.
        interval: Duration = duration("committedResourceSyncInterval", seconds(3600), Zero::Invalid),
        /// End active commitments that Limes no longer lists although it listed everything.
        end_stale_commitments: bool = flag("endStaleCommitments", false),
    }
}
