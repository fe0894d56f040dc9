//! The syncer that repairs commitments from Limes' view.

use std::collections::BTreeSet;
use std::time::Duration;

use super::section::{Zero, seconds};
use super::settings::settings;

const LEAST_INTERVAL: Duration = Duration::from_secs(60);

settings! {
    /// Settings of `commitments-sync-task`, all on the top level.
    pub struct Syncer = read(s) {
        /// Period in which the syncer fetches Limes' view; less than a minute counts as a minute.
        interval: Duration = duration("committedResourceSyncInterval", seconds(3600), Zero::Invalid),
        /// End active commitments that Limes no longer lists although it listed everything.
        end_stale_commitments: bool = flag("endStaleCommitments", false),
        /// Service types of Limes whose commitments are ours.
        service_types: BTreeSet<String> = set("limesServiceTypes", "compute"),
        /// Projects whose commitments the syncer asks Limes for in a second, at most.
        requests_per_second: usize = count("limesRequestsPerSecond", 20, 1),
        /// Requests to Limes that are under way at the same time, at most.
        requests_in_flight: usize = count("limesRequestsInFlight", 16, 1),
    }
}

impl Syncer {
    /// The period in effect.
    pub fn period(&self) -> Duration {
        self.interval.max(LEAST_INTERVAL)
    }

    /// Without any name that of Nova: no service at all would be no syncer.
    pub fn services(&self) -> BTreeSet<String> {
        if self.service_types.is_empty() { ["compute".to_owned()].into() } else { self.service_types.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Syncer;
    use crate::config::decode;

    fn read(values: &Value) -> Result<Syncer, String> {
        let loaded = decode(values.as_object().unwrap(), false).map_err(|error| error.to_string())?;
        Ok(loaded.configuration.syncer)
    }

    #[test]
    fn the_defaults_are_gentle_to_limes() {
        let usual = read(&json!({})).unwrap();
        assert_eq!((usual.period().as_secs(), usual.end_stale_commitments), (3600, false));
        assert_eq!((usual.requests_per_second, usual.requests_in_flight), (20, 16));
        assert_eq!(usual.services(), ["compute".to_owned()].into());
    }

    #[test]
    fn the_interval_is_never_shorter_than_a_minute() {
        for (given, seconds) in [("1s", 60), ("60s", 60), ("5m", 300)] {
            let read = read(&json!({ "committedResourceSyncInterval": given })).unwrap();
            assert_eq!(read.period().as_secs(), seconds, "{given}");
        }
    }

    #[test]
    fn requests_are_positive_numbers() {
        for key in ["limesRequestsPerSecond", "limesRequestsInFlight"] {
            assert!(read(&json!({ key: 0 })).unwrap_err().contains("is out of range"), "{key}");
        }
        let set =
            read(&json!({ "limesServiceTypes": ["compute", "liquid-berth"], "limesRequestsPerSecond": 5 })).unwrap();
        assert_eq!((set.services().len(), set.requests_per_second), (2, 5));
    }
}
