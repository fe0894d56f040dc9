//! The checks of `berth e2e-commitments` against a running LIQUID API.

use std::time::Duration;

use super::section::{Section, Zero, seconds};
use super::settings::settings;

settings! {
    /// Settings of the checks, all on the top level.
    pub struct Checks = read_keys(s, old_zone: Option<String>, old_project: Option<String>) {
        /// Zones that are checked.
        zones: Vec<String> = (zones(s, old_zone)),
        /// Address of the API under test.
        base_url: String = url_or("baseURL", "http://localhost:8080"),
        /// Project of the commitments that the checks create.
        project_id: String = (project_id(s, old_project)),
        /// Longest wait for the answer to a change of commitments.
        request_timeout: Duration = duration("requestTimeout", seconds(30), Zero::Default),
        /// Leave the commitments of the checks behind.
        no_cleanup: bool = flag("noCleanup", false),
    }
}

impl Checks {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        let (zone, project) = s.section("roundTripCheck", |s| {
            let zone = s.optional("az", "none", "Old form of `azs` with one zone.");
            (zone, s.optional("testProjectID", "none", "Old form of `projectID`."))
        });
        Self::read_keys(s, zone, project)
    }
}

fn zones(s: &mut Section<'_>, old: Option<String>) -> Vec<String> {
    let found = s.list("azs", "`roundTripCheck.az`, else qa-de-1b", "Zones that are checked.");
    let zones = found.filter(|zones| !zones.is_empty());
    s.settle("azs", zones.unwrap_or_else(|| vec![old.unwrap_or_else(|| "qa-de-1b".to_owned())]))
}

fn project_id(s: &mut Section<'_>, old: Option<String>) -> String {
    const ABSENT: &str = "`roundTripCheck.testProjectID`, else 00000000-0000-0000-0000-000000000e2e";
    const PROJECT: &str = "00000000-0000-0000-0000-000000000e2e";
    let found = s.optional("projectID", ABSENT, "Project of the commitments that the checks create.");
    s.settle("projectID", found.or(old).unwrap_or_else(|| PROJECT.to_owned()))
}
