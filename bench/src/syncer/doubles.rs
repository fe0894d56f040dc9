//! Doubles of Keystone and Limes in this process, and an operator in which only the syncer works.

use std::fs;
use std::time::Duration;

use berth_crds::{CommittedResource, testing};
use berth_testkit::keystone::{Keystone, KeystoneFault, Projects, USER};
use berth_testkit::limes::{Limes, commitment};
use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::list_size::{EACH, ListSize};
use crate::cloud;
use crate::error::Error;
use crate::operator::Operator;
use crate::plane::Plane;

const PASSWORD: &str = "the-password-of-keystone";
/// A run that has failed is repeated within a minute.
const BEGINS_WITHIN: Duration = Duration::from_secs(120);
/// So long that it adds little work while a run is awaited, and so short that it misses little of it.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const ASKED_EVERY: Duration = Duration::from_millis(50);
/// A page of the commitments that exist.
const PAGE: u32 = 1000;
const COMPARISONS: &str = "berth_controller_runs_total";
const OF_SYNCER: &str = "controller=\"limes-syncer\"";

pub(super) fn project_id(project: usize) -> String {
    format!("project-{project:05}")
}

/// How fast the syncer may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Default,
    /// So many requests in a second: the processor time of a run does not depend on how long it waits.
    Fast(usize),
}

/// Keystone and Limes with a list of this size.
pub(super) struct Doubles {
    pub(super) limes: Limes,
    keystone: Keystone,
    pub(super) size: ListSize,
}

impl Doubles {
    pub(super) async fn start(size: ListSize) -> Result<Self, Error> {
        let failed = || Error::system("a double of Keystone or Limes");
        let keystone = Keystone::start(PASSWORD).await.map_err(failed())?;
        let limes = Limes::start().await.map_err(failed())?;
        keystone.add_service("resources", &limes.url());
        let all = (0..size.projects).map(|project| (project_id(project), testing::DOMAIN.to_owned())).collect();
        keystone.set_projects(Projects { all, ..Projects::default() });
        for project in 0..size.projects {
            let numbers = project * EACH..(project + 1) * EACH;
            let listed = numbers
                .map(|number| commitment(&cloud::uuid(number), testing::GROUP, cloud::zone(number), cloud::GIB as u64));
            limes.set(&project_id(project), listed.collect());
        }
        Ok(Self { limes, keystone, size })
    }

    /// Starts an operator in which only the syncer works. It finds no Keystone until `let_answer`.
    pub(super) async fn operator(&self, plane: &Plane, pace: Pace) -> Result<Operator, Error> {
        self.keystone.set_fault(Some(KeystoneFault::Status(500)));
        let path = plane.account().with_file_name("bench-syncer.json");
        fs::write(&path, self.configuration(pace)).map_err(Error::system("the configuration of the operator"))?;
        let mut operator = Operator::start_with(plane, &[&format!("--config={}", path.display())]).await?;
        operator.ready().await?;
        plane.rest().await?;
        Ok(operator)
    }

    pub(super) fn let_answer(&self) {
        self.keystone.set_fault(None);
    }

    fn configuration(&self, pace: Pace) -> String {
        let mut keys = json!({
            "enabledControllers": [], "enabledTasks": ["commitments-sync-task"], "committedResourceSyncInterval": "60s",
            "keystoneURL": self.keystone.url(), "osUsername": USER, "osPassword": PASSWORD, "osProjectName": "service",
            "osUserDomainName": "Default", "osProjectDomainName": "Default",
        });
        match pace {
            Pace::Default => keys["committedResourceSyncInterval"] = "1h".into(),
            Pace::Fast(per_second) => keys["limesRequestsPerSecond"] = per_second.into(),
        }
        keys.to_string()
    }

    /// How often the projects were listed.
    pub(super) fn runs(&self) -> usize {
        self.keystone.requests().iter().filter(|request| request.starts_with("GET /v3/projects")).count()
    }

    /// Waits until another run has begun than those that were counted.
    pub(super) async fn next_run(&self, former: usize) -> Result<(), Error> {
        self.wait(BEGINS_WITHIN, POLL_INTERVAL, "the next run begins", || self.runs() > former).await
    }

    /// Waits until all projects were asked for that often, and then until all was compared that often, by the metrics of the
    /// operator, which are scraped at this interval.
    pub(super) async fn compared(
        &self,
        operator: &mut Operator,
        times: usize,
        every: Duration,
        within: Duration,
    ) -> Result<(), Error> {
        let expected = times * self.size.projects;
        let is_asked = || self.limes.count_requests() >= expected;
        self.wait(within, ASKED_EVERY, "all projects are asked for", is_asked).await?;
        let (number, what) = (times * self.size.commitments, "all commitments are compared");
        operator.counted_seldom(every, COMPARISONS, OF_SYNCER, number, what).await
    }

    async fn wait(
        &self,
        within: Duration,
        every: Duration,
        what: &'static str,
        is_reached: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        while !is_reached() {
            if Instant::now() > deadline {
                let (seconds, log) = (within.as_secs(), format!("{} requests to Limes", self.limes.count_requests()));
                return Err(Error::TooLong { what, seconds, log });
            }
            sleep(every).await;
        }
        Ok(())
    }
}

/// The commitments that exist, without what only the API server writes.
pub(super) async fn existing(plane: &Plane) -> Result<Vec<CommittedResource>, Error> {
    let api: Api<CommittedResource> = Api::all(plane.admin().clone());
    let (mut all, mut params) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let page = api.list(&params).await?;
        for object in page.items {
            all.push(serde_json::from_value(cloud::bare(&serde_json::to_string(&object)?)?)?);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}
