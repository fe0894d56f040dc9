//! Keystone and Limes in memory: what each project has, faults, and what happens while a run is under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_limes_syncer::LimesClient;
use berth_openstack::OpenStackError;
use berth_openstack::limes::{ListedCommitment, Project};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::GROUP;

/// Clones share what is known.
#[derive(Clone, Default)]
pub struct FakeLimes(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    projects: Vec<Project>,
    commitments: BTreeMap<String, Vec<ListedCommitment>>,
    faults: BTreeMap<String, Failure>,
    keystone: Option<Failure>,
    /// Runs once, before the answer about this project is made.
    hooks: BTreeMap<String, Box<dyn FnOnce() + Send>>,
    takes: Duration,
    requests: Vec<(String, Instant)>,
    under_way: usize,
    most_under_way: usize,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Unknown,
    Internal,
    /// So many requests are answered with 503.
    Busy(usize),
}

impl FakeLimes {
    /// Projects `p-0`, `p-1`, ... of the domain `d-1`.
    pub fn with_projects(count: usize) -> Self {
        let limes = Self::default();
        let project = |number| Project { id: format!("p-{number}"), domain_id: "d-1".to_owned() };
        limes.0.lock().projects = (0..count).map(project).collect();
        limes
    }

    /// The project has exactly these commitments.
    pub fn set(&self, project: &str, commitments: Vec<ListedCommitment>) {
        self.0.lock().commitments.insert(project.to_owned(), commitments);
    }

    pub fn remove_all(&self) {
        self.0.lock().commitments.clear();
    }

    pub fn remove_projects(&self) {
        self.0.lock().projects.clear();
    }

    pub fn fail(&self, project: &str, failure: Option<Failure>) {
        let mut known = self.0.lock();
        match failure {
            Some(failure) => known.faults.insert(project.to_owned(), failure),
            None => known.faults.remove(project),
        };
    }

    pub fn fail_keystone(&self, failure: Option<Failure>) {
        self.0.lock().keystone = failure;
    }

    /// Happens during the next fetch of this project, before it is answered.
    pub fn meanwhile(&self, project: &str, act: impl FnOnce() + Send + 'static) {
        self.0.lock().hooks.insert(project.to_owned(), Box::new(act));
    }

    /// How long each answer takes.
    pub fn set_latency(&self, takes: Duration) {
        self.0.lock().takes = takes;
    }

    pub fn take_requests(&self) -> Vec<(String, Instant)> {
        std::mem::take(&mut self.0.lock().requests)
    }

    pub fn most_under_way(&self) -> usize {
        self.0.lock().most_under_way
    }

    fn begin(&self, what: &str) -> Duration {
        let mut known = self.0.lock();
        known.requests.push((what.to_owned(), Instant::now()));
        known.under_way += 1;
        known.most_under_way = known.most_under_way.max(known.under_way);
        known.takes
    }

    fn answer_projects(&self) -> Result<Vec<Project>, OpenStackError> {
        let mut known = self.0.lock();
        known.under_way -= 1;
        check(&mut known.keystone, "projects")?;
        Ok(known.projects.clone())
    }

    fn answer_commitments(&self, project: &str) -> Result<Vec<ListedCommitment>, OpenStackError> {
        let act = self.0.lock().hooks.remove(project);
        if let Some(act) = act {
            act();
        }
        let mut known = self.0.lock();
        known.under_way -= 1;
        let mut fault = known.faults.get(project).copied();
        let checked = check(&mut fault, project);
        if let Some(fault) = fault {
            known.faults.insert(project.to_owned(), fault);
        }
        checked?;
        Ok(known.commitments.get(project).cloned().unwrap_or_default())
    }
}

fn check(failure: &mut Option<Failure>, url: &str) -> Result<(), OpenStackError> {
    let status = |status| OpenStackError::Status {
        method: "GET",
        url: url.to_owned(),
        expected: "200",
        status,
        body: String::new(),
    };
    match failure {
        Some(Failure::Unknown) => Err(status(404)),
        Some(Failure::Internal) => Err(status(500)),
        Some(Failure::Busy(left)) if *left > 0 => {
            *left -= 1;
            Err(OpenStackError::Busy { url: url.to_owned(), status: 503, retry_after: None, body: String::new() })
        }
        Some(Failure::Busy(_)) | None => Ok(()),
    }
}

impl LimesClient for FakeLimes {
    fn projects(&self) -> BoxFuture<'_, Result<Vec<Project>, OpenStackError>> {
        async move {
            let takes = self.begin("projects");
            sleep(takes).await;
            self.answer_projects()
        }
        .boxed()
    }

    fn commitments<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<Vec<ListedCommitment>, OpenStackError>> {
        async move {
            let takes = self.begin(&project.id);
            sleep(takes).await;
            self.answer_commitments(&project.id)
        }
        .boxed()
    }
}

/// A confirmed commitment of so many GiB without an end.
pub fn listed(uuid: &str, amount: u64) -> ListedCommitment {
    let time = |text: &str| text.parse().ok();
    ListedCommitment {
        uuid: uuid.to_owned(),
        service_type: "compute".to_owned(),
        resource_name: format!("hw_version_{GROUP}_ram"),
        availability_zone: berth_crds::testing::ZONE.to_owned(),
        amount,
        unit: "GiB".to_owned(),
        created_at: time("2026-01-01T00:00:00Z"),
        confirmed_at: time("2026-02-01T00:00:00Z"),
        expires_at: None,
        status: "confirmed".to_owned(),
    }
}
