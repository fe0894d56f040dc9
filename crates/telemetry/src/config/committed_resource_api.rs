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
        /// A finished change is deleted after this time; 0 = never because of its age. At least the newest 10 that were rolled back are kept, and at most 10,000.
        change_retention: Duration = duration("changeRetention", seconds(24 * 3600), Zero::Off),
        /// Requests for changes in a zone that may wait for their turn at the same time.
        change_queue_length: usize = count("changeQueueLength", 50, 1),
        /// Longest wait of a request for its turn.
        change_queue_wait: Duration = duration("changeQueueWait", seconds(10), Zero::Invalid),
        /// Nobody else writes a commitment for so long after a change of it; 0 = off.
        change_quiet_period: Duration = duration("changeQuietPeriod", seconds(120), Zero::Off),
        /// Callers are told to try a change that was rejected for lack of capacity again after this time; 0 = they are told no time.
        retry_after_rejection: Duration = duration("retryAfterRejection", seconds(15 * 60), Zero::Off),
        /// Largest body of a request, in bytes.
        max_request_bytes: usize = count("maxRequestBytes", 8 * 1024 * 1024, 1),
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CommittedResourceApi, Duration};
    use crate::config::decode;

    fn read(api: &Value) -> Result<CommittedResourceApi, String> {
        let values = json!({ "committedResourceAPI": api });
        let loaded = decode(values.as_object().unwrap(), false).map_err(|error| error.to_string())?;
        Ok(loaded.configuration.committed_resource_api)
    }

    #[test]
    fn changes_of_commitments_have_defaults_that_work() {
        let usual = read(&json!({})).unwrap();
        let seconds = [usual.watch_timeout, usual.change_retention, usual.change_queue_wait, usual.change_quiet_period]
            .map(|time| time.as_secs());
        assert_eq!(seconds, [10, 86_400, 10, 120]);
        assert_eq!(usual.retry_after_rejection.as_secs(), 900);
        assert_eq!((usual.change_queue_length, usual.max_request_bytes), (50, 8 << 20));
    }

    #[test]
    fn some_times_can_be_switched_off_and_others_have_to_be_positive() {
        let off = read(&json!({ "changeRetention": "0", "changeQuietPeriod": "0s", "retryAfterRejection": "0s" }));
        let off = off.unwrap();
        assert!(
            [off.change_retention, off.change_quiet_period, off.retry_after_rejection].iter().all(Duration::is_zero)
        );
        for key in ["watchTimeout", "watchPollInterval", "changeQueueWait"] {
            for (time, text) in [("0s", "is not possible here"), ("-1s", "is negative")] {
                let refused = read(&json!({ key: time })).unwrap_err();
                assert!(
                    refused.contains(&format!("committedResourceAPI.{key}: ")) && refused.contains(text),
                    "{refused}"
                );
            }
        }
        for key in ["changeQueueLength", "maxRequestBytes"] {
            assert!(read(&json!({ key: 0 })).unwrap_err().contains("is out of range"), "{key}");
        }
    }
}
