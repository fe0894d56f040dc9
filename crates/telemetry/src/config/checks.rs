//! The checks of `berth e2e-commitments` against a running LIQUID API (document 11 section 5.12).

use std::time::Duration;

use super::section::{Section, Zero};

/// Settings of the checks, all on the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checks {
    /// `baseURL`: the API under test.
    pub base_url: String,
    /// `projectID`: project of the commitments that the checks create.
    pub project_id: String,
    /// `azs`: zones to check.
    pub zones: Vec<String>,
    /// `requestTimeout`: longest wait for an answer.
    pub request_timeout: Duration,
    /// `noCleanup`: whether the commitments are left behind.
    pub no_cleanup: bool,
}

impl Checks {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const PROJECT_ABSENT: &str = "`roundTripCheck.testProjectID`, else 00000000-0000-0000-0000-000000000e2e";
        const PROJECT: &str = "00000000-0000-0000-0000-000000000e2e";
        const ZONE: &str = "qa-de-1b";
        let (old_zone, old_project) = s.section("roundTripCheck", |s| {
            let zone = s.optional("az", "none", "Old form of `azs` with one zone.");
            (zone, s.optional("testProjectID", "none", "Old form of `projectID`."))
        });
        let zones = s
            .list("azs", "`roundTripCheck.az`, else qa-de-1b", "Zones that are checked.")
            .filter(|zones| !zones.is_empty());
        let base_url = s.url("baseURL", "http://localhost:8080", "Address of the API under test.");
        let project_id = s.optional("projectID", PROJECT_ABSENT, "Project of the commitments that the checks create.");
        let base_url = base_url.unwrap_or_else(|| "http://localhost:8080".to_owned());
        let project_id = project_id.or(old_project).unwrap_or_else(|| PROJECT.to_owned());
        let zones = zones.unwrap_or_else(|| vec![old_zone.unwrap_or_else(|| ZONE.to_owned())]);
        Self {
            base_url: s.settle("baseURL", base_url),
            project_id: s.settle("projectID", project_id),
            zones: s.settle("azs", zones),
            request_timeout: s.duration(
                "requestTimeout",
                Duration::from_secs(30),
                Zero::Default,
                "Longest wait for an answer.",
            ),
            no_cleanup: s.flag("noCleanup", false, "Leave the commitments of the checks behind."),
        }
    }
}
