//! `committedResourceAPI`: the LIQUID API (document 11 section 5.5).

use std::{collections::BTreeSet, time::Duration};

use super::{
    duration,
    flavor_group_resources::FlavorGroups,
    section::{Section, Zero},
};

/// Settings of the LIQUID API.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent switches, as in the file")]
pub struct CommittedResourceApi {
    /// `enableChangeCommitments`.
    pub enable_change_commitments: bool,
    /// `enableReportUsage`.
    pub enable_report_usage: bool,
    /// `enableReportCapacity`.
    pub enable_report_capacity: bool,
    /// `enableQuota`.
    pub enable_quota: bool,
    /// `watchTimeout`: longest wait for the outcome of a change.
    pub watch_timeout: Duration,
    /// `watchPollInterval`: kept for old configurations; outcomes are watched, not polled (decision D2).
    pub watch_poll_interval: Duration,
    /// `quotaServedAvailabilityZones`: zones whose quota is kept; empty means all.
    pub quota_served_availability_zones: BTreeSet<String>,
    /// `flavorGroupResourceConfig`: what each flavor group offers.
    pub flavor_groups: FlavorGroups,
}

impl CommittedResourceApi {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const ZONES: &str = "Zones whose quota is kept; quota of other zones is left out without an error.";
        let this = Self {
            enable_change_commitments: s.flag("enableChangeCommitments", true, "Answer change-commitments; off: 503."),
            enable_report_usage: s.flag("enableReportUsage", true, "Answer report-usage; off: 503."),
            enable_report_capacity: s.flag("enableReportCapacity", true, "Answer report-capacity; off: 503."),
            enable_quota: s.flag("enableQuota", true, "Answer quota; off: 503."),
            watch_timeout: s.duration(
                "watchTimeout",
                Duration::from_secs(10),
                Zero::Invalid,
                "Longest wait for the outcome of a change of commitments.",
            ),
            watch_poll_interval: s.duration(
                "watchPollInterval",
                Duration::from_millis(500),
                Zero::Invalid,
                "Checked only: outcomes are watched, not polled. Shorter than `watchTimeout`.",
            ),
            quota_served_availability_zones: s
                .list("quotaServedAvailabilityZones", "all", ZONES)
                .unwrap_or_default()
                .into_iter()
                .collect(),
            flavor_groups: FlavorGroups::read(s),
        };
        this.check(s);
        this
    }

    fn check(&self, s: &mut Section<'_>) {
        if s.is_sound() && self.watch_poll_interval >= self.watch_timeout {
            let text = format!(
                "{} is not shorter than watchTimeout ({}); shorten the one or raise the other",
                duration::format(self.watch_poll_interval),
                duration::format(self.watch_timeout)
            );
            s.error("watchPollInterval", text);
        }
    }
}
