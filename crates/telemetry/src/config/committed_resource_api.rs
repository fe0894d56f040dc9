//! `committedResourceAPI`: the LIQUID API.

use std::collections::BTreeSet;
use std::time::Duration;

use super::flavor_group_resources::FlavorGroups;
use super::section::{Section, Zero, seconds};
use super::settings::settings;

settings! {
    /// Settings of the LIQUID API.
    pub struct CommittedResourceApi = read(s) check {
        /// Answer change-commitments; off: 503.
        enable_change_commitments: bool = flag("enableChangeCommitments", true),
        /// Answer report-usage; off: 503.
        enable_report_usage: bool = flag("enableReportUsage", true),
        /// Answer report-capacity; off: 503.
        enable_report_capacity: bool = flag("enableReportCapacity", true),
        /// Answer quota; off: 503.
        enable_quota: bool = flag("enableQuota", true),
        /// Longest wait for the outcome of a change of commitments.
        watch_timeout: Duration = duration("watchTimeout", seconds(10), Zero::Invalid),
        /// Checked only: outcomes are watched, not polled. Shorter than `watchTimeout`.
        watch_poll_interval: Duration = duration("watchPollInterval", Duration::from_millis(500), Zero::Invalid),
        /// Zones whose quota is kept; quota of other zones is left out without an error.
        quota_served_availability_zones: BTreeSet<String> = set("quotaServedAvailabilityZones", "all"),
        /// `flavorGroupResourceConfig`: what each flavor group offers.
        flavor_groups: FlavorGroups = (FlavorGroups::read(s)),
    }
}

impl CommittedResourceApi {
    fn check(&self, s: &mut Section<'_>) {
        s.check_shorter(
            ("watchPollInterval", self.watch_poll_interval),
            ("watchTimeout", self.watch_timeout),
            "shorten the one or raise the other",
        );
    }
}
