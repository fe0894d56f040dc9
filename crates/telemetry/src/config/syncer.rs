//! The syncer that repairs commitments from Limes' view (document 11 section 5.6).

use std::time::Duration;

use super::section::{Section, Zero};

/// Settings of `commitments-sync-task`, all on the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syncer {
    /// `committedResourceSyncInterval`: period.
    pub interval: Duration,
    /// `endStaleCommitments`: whether commitments that Limes no longer knows are ended.
    pub end_stale_commitments: bool,
}

impl Syncer {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const STALE: &str = "End active commitments that Limes no longer lists although it listed everything.";
        Self {
            interval: s.duration(
                "committedResourceSyncInterval",
                Duration::from_secs(3600),
                Zero::Invalid,
                "Period in which the syncer fetches Limes' view.",
            ),
            end_stale_commitments: s.flag("endStaleCommitments", false, STALE),
        }
    }
}
