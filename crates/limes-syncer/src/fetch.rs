//! A run: it asks for all projects and their commitments, and publishes a view. Errors of single projects make the view
//! incomplete; nothing here ends the process.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{FlavorGroupsCache, Requests, Routes, Store};
use berth_core::GroupName;
use berth_core::commitment::{Phase, Spec};
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::units::RamUnit;
use berth_crds::{CommittedResource, facts};
use berth_openstack::OpenStackError;
use berth_openstack::limes::{ListedCommitment, Project};
use berth_telemetry::clock::Clock;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::error::RunError;
use crate::filter::Filter;
use crate::key::SyncKey;
use crate::metrics::{RunFigures, SyncMetrics};
use crate::pace::{Jitter, Pace};
use crate::recent::RecentChanges;
use crate::schedule::Schedule;
use crate::view::{
    Assembled, Began, FetchFailure, FetchedCommitment, FetchedProject, FetchedProjects, LocalCommitment,
    LocalCommitments, assemble, check_answer,
};
use crate::views::Views;

/// How often one request is repeated while the server is busy.
const RETRIES: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// After so many failed projects, one after the other, the others are not asked for: Limes is away.
const MOST_FAILURES: usize = 10;

/// Keystone and Limes. Each call has a deadline.
pub trait LimesClient: Send + Sync + 'static {
    fn projects(&self) -> BoxFuture<'_, Result<Vec<Project>, OpenStackError>>;
    fn commitments<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<Vec<ListedCommitment>, OpenStackError>>;
}

/// The unit in which Limes counts the memory of a group.
pub type RamUnits = Arc<dyn Fn(&GroupName) -> Option<RamUnit> + Send + Sync>;

/// The dependencies of the runs.
pub struct FetcherParts {
    pub limes: Arc<dyn LimesClient>,
    pub views: Views,
    pub recent: RecentChanges,
    pub requests: Requests<SyncKey>,
    pub commitments: Store<CommittedResource>,
    pub routes: Routes,
    pub groups: FlavorGroupsCache,
    pub ram_units: RamUnits,
    pub clock: Arc<dyn Clock>,
    pub metrics: SyncMetrics,
    pub services: BTreeSet<String>,
    pub interval: Duration,
    pub requests_per_second: usize,
    pub requests_in_flight: usize,
}

/// Fetches what Limes lists, once per interval.
pub struct Fetcher {
    parts: FetcherParts,
    pace: Pace,
    /// An outage is logged once.
    is_failing: bool,
}

/// What has become of a run that has led to a view.
struct RunOutcome {
    figures: RunFigures,
    /// The projects of which something else is known than that Limes does not know them.
    failed: usize,
    incomplete: Option<String>,
}

impl Fetcher {
    pub fn new(parts: FetcherParts, jitter: Jitter) -> Self {
        let pace = Pace::new(parts.requests_per_second, jitter);
        Self { parts, pace, is_failing: false }
    }

    /// One run after the other until `stop`.
    pub async fn work(mut self, stop: CancellationToken) {
        // It ends with `stop` only.
        let _ = stop.run_until_cancelled(self.run_forever()).await;
    }

    async fn run_forever(&mut self) {
        let mut schedule = Schedule::new(self.parts.interval);
        loop {
            let began = Instant::now();
            let has_failed = self.run_once().await;
            sleep(schedule.next(has_failed, began.elapsed())).await;
        }
    }

    /// Whether the run has failed and is to be repeated soon.
    pub async fn run_once(&mut self) -> bool {
        let began = Instant::now();
        self.parts.metrics.begin(self.parts.clock.now());
        let outcome = self.fetch_view().await;
        self.parts.metrics.took(began.elapsed());
        match outcome {
            Ok(outcome) => self.note_view(&outcome, began.elapsed()),
            Err(error) => self.note_failure(&error),
        }
    }

    async fn fetch_view(&self) -> Result<RunOutcome, RunError> {
        self.parts.groups.get()?;
        let began = self.now();
        if let Some(former) = self.parts.views.newest() {
            // Some commitments may still have to be compared with it.
            self.parts.recent.forget_before(former.began.instant);
        }
        let projects = self.with_retries(|| self.parts.limes.projects()).await.map_err(RunError::Projects)?;
        let projects = self.fetch_all(projects, began.instant).await;
        let (unread, failed) = count_failures(&projects);
        let fetched = FetchedProjects { began, projects };
        // As they are now: a group that has come meanwhile is known.
        let groups = self.parts.groups.get()?.groups;
        let filter = self.filter(&groups);
        let local = self.local(began);
        let former = self.parts.views.newest();
        let Assembled { view, usable, skipped, unmatched } = assemble(fetched, &filter, &local, former.as_deref());
        let incomplete = view.require_complete().err().map(ToString::to_string);
        let figures = RunFigures { usable, unmatched, unread, is_complete: incomplete.is_none(), skipped };
        self.parts.views.publish(view, local.commitments.into_iter().map(|one| one.uuid));
        self.parts.requests.add(self.parts.views.pending_uuids().into_iter().map(SyncKey));
        Ok(RunOutcome { figures, failed, incomplete })
    }

    fn now(&self) -> Began {
        Began { instant: Instant::now(), time: self.parts.clock.now() }
    }

    /// Asks for the commitments of each project. At most the configured number of requests is under way.
    async fn fetch_all(&self, projects: Vec<Project>, began: Instant) -> Vec<FetchedProject> {
        let (mut under_way, mut fetched, mut failures) = (FuturesUnordered::new(), Vec::new(), 0);
        for project in projects {
            while under_way.len() >= self.parts.requests_in_flight {
                collect(under_way.next().await, &mut fetched, &mut failures);
            }
            while let Some(ended) = under_way.next().now_or_never() {
                let Some(ended) = ended else { break };
                collect(Some(ended), &mut fetched, &mut failures);
            }
            if failures >= MOST_FAILURES || began.elapsed() > self.parts.interval {
                fetched.push(FetchedProject { project, began: self.now(), listed: Err(FetchFailure::NotAsked) });
            } else {
                self.begin_one(project, &mut under_way, &mut fetched, &mut failures).await;
            }
        }
        while let Some(ended) = under_way.next().await {
            collect(Some(ended), &mut fetched, &mut failures);
        }
        fetched.sort_by(|a, b| a.project.cmp(&b.project));
        fetched
    }

    /// Waits for the turn of the project, while the requests that are under way go on.
    async fn begin_one<'s>(
        &'s self,
        project: Project,
        under_way: &mut FuturesUnordered<BoxFuture<'s, FetchedProject>>,
        fetched: &mut Vec<FetchedProject>,
        failures: &mut usize,
    ) {
        let turn = self.pace.wait();
        tokio::pin!(turn);
        loop {
            tokio::select! {
                biased;
                () = &mut turn => break,
                Some(ended) = under_way.next() => collect(Some(ended), fetched, failures),
            }
        }
        under_way.push(self.fetch_one(project).boxed());
    }

    /// The first request has had its turn.
    async fn fetch_one(&self, project: Project) -> FetchedProject {
        let began = self.now();
        let first = self.parts.limes.commitments(&project).await;
        let listed = match first {
            Err(error) if error.is_busy().is_some() => {
                self.repeat(error, || self.parts.limes.commitments(&project)).await
            }
            other => other,
        };
        let failure = |error: OpenStackError| {
            if error.is_not_found() { FetchFailure::Unknown } else { FetchFailure::Failed(error.to_string()) }
        };
        let listed = listed.map_err(failure).map(|listed| self.check(listed, &project));
        if let Err(why) = &listed {
            debug!(project = project.id, error = %why, "commitments of a project not read");
        }
        FetchedProject { project, began, listed }
    }

    fn check(&self, listed: Vec<ListedCommitment>, project: &Project) -> Vec<FetchedCommitment> {
        let known = self.parts.groups.get().ok();
        let none = FlavorGroups::default();
        let filter = self.filter(known.as_ref().map_or(&none, |known| &known.groups));
        check_answer(listed, project, &filter, self.parts.views.newest().as_deref())
    }

    fn filter<'f>(&'f self, groups: &'f FlavorGroups) -> Filter<'f> {
        Filter { services: &self.parts.services, groups, ram_unit: &*self.parts.ram_units }
    }

    async fn with_retries<'a, T>(
        &'a self,
        ask: impl Fn() -> BoxFuture<'a, Result<T, OpenStackError>>,
    ) -> Result<T, OpenStackError> {
        self.pace.wait().await;
        match ask().await {
            Err(error) if error.is_busy().is_some() => self.repeat(error, ask).await,
            other => other,
        }
    }

    /// Repeats a request while the server is busy. Each repetition waits for its turn.
    async fn repeat<'a, T>(
        &self,
        mut error: OpenStackError,
        ask: impl Fn() -> BoxFuture<'a, Result<T, OpenStackError>>,
    ) -> Result<T, OpenStackError> {
        for attempt in 0..RETRIES {
            let Some(wanted) = error.is_busy() else { break };
            sleep(wanted.unwrap_or(FIRST_WAIT * (1 << attempt))).await;
            self.pace.wait().await;
            match ask().await {
                Ok(answer) => return Ok(answer),
                Err(next) => error = next,
            }
        }
        Err(error)
    }

    fn local(&self, began: Began) -> LocalCommitments {
        let clusters = self.parts.routes.clusters::<CommittedResource>().unwrap_or_default();
        let partial = clusters.iter().find_map(|cluster| self.parts.commitments.require_synced(cluster).err());
        let now = self.parts.clock.now();
        let one = |object: &CommittedResource| {
            let spec: Spec = facts::spec(object);
            let is_new = self.parts.recent.has_changed_since(&spec.uuid, began.instant);
            let has_ended = matches!(spec.phase(now), Phase::Ended(_)) || spec.end.is_some_and(|end| end <= now);
            LocalCommitment { is_expected: !is_new && !has_ended, uuid: spec.uuid, project: spec.project }
        };
        LocalCommitments {
            commitments: self.parts.commitments.all().iter().map(|entry| one(&entry.object)).collect(),
            partial: partial.map(|partial| partial.to_string()),
        }
    }

    fn note_view(&mut self, outcome: &RunOutcome, took: Duration) -> bool {
        self.parts.metrics.show(&outcome.figures);
        let has_failed = outcome.failed > 0;
        let incomplete = outcome.incomplete.as_deref().unwrap_or_default();
        if has_failed {
            self.parts.metrics.failed();
            if !self.is_failing {
                warn!(
                    projects = outcome.failed,
                    reason = incomplete,
                    "commitments of some projects not read; they are not compared"
                );
            }
        } else {
            self.parts.metrics.succeeded(self.parts.clock.now());
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            info!(commitments = outcome.figures.usable, milliseconds, reason = incomplete, "list of Limes read");
        }
        self.is_failing = has_failed;
        has_failed
    }

    fn note_failure(&mut self, error: &RunError) -> bool {
        if !error.is_not_ready() {
            self.parts.metrics.failed();
        }
        if self.is_failing {
            debug!(%error, "list of Limes not read");
        } else {
            warn!(%error, "list of Limes not read; nothing is compared, and it is tried again");
        }
        self.is_failing = true;
        true
    }
}

/// The failures in a row: of a project that Limes does not know an answer came.
fn collect(ended: Option<FetchedProject>, fetched: &mut Vec<FetchedProject>, failures: &mut usize) {
    let Some(ended) = ended else { return };
    *failures = if matches!(ended.listed, Err(FetchFailure::Failed(_))) { *failures + 1 } else { 0 };
    fetched.push(ended);
}

/// The projects that could not be read, and those of them that Limes should know.
fn count_failures(projects: &[FetchedProject]) -> (usize, usize) {
    let unread = projects.iter().filter(|one| one.listed.is_err()).count();
    let unknown = projects.iter().filter(|one| one.listed.as_ref().err() == Some(&FetchFailure::Unknown)).count();
    (unread, unread - unknown)
}
