//! The controller: read, plan, apply (`docs/architecture.md`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Action, ObjectField, ProjectKey, Reconciler, Requests, Right, Verb, Watches, Writer};
use berth_core::ProjectId;
use berth_crds::CommittedResource;
use berth_projects::{Error, ProjectSources, RETRY, Times, WaitingProjects};
use berth_telemetry::clock::Clock;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::metrics::UsageMetrics;
use crate::plan::{StoredCommitment, UsagePlan, plan};
use crate::problems::Problems;
use crate::read::Reader;
use crate::watches::{all_projects, declare};

/// The dependencies of the controller.
pub struct Context {
    /// Into the store of the sources.
    pub commitments: Writer<CommittedResource>,
    pub sources: ProjectSources,
    pub clock: Arc<dyn Clock>,
    pub metrics: UsageMetrics,
    /// Where projects are enqueued whose VMs have changed.
    pub requests: Requests<ProjectKey>,
    pub settings: Settings,
}

/// The settings of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `cooldownInterval`: the period of runs without a cause.
    pub period: Duration,
}

/// Computes and writes the usage of commitments.
pub struct UsageController {
    context: Context,
    waiting: WaitingProjects,
    /// When the usage of each project was computed.
    last_runs: Mutex<BTreeMap<ProjectId, Instant>>,
    problems: Problems,
}

impl Reconciler for UsageController {
    const NAME: &'static str = "usage";
    const OBJECT: ObjectField = ObjectField::Project;
    type Key = ProjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<CommittedResource>(&[Verb::Get]).because("A commitment of unknown state is read again."),
            Right::status::<CommittedResource>(&[Verb::Patch]).because("Which VMs use a commitment."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ProjectKey>) {
        declare(watches, &self.context.sources);
    }

    fn first_keys(&self) -> Vec<ProjectKey> {
        all_projects(&self.context.sources.commitments).into_iter().collect()
    }

    async fn reconcile(&self, key: ProjectKey) -> Result<Action, Error> {
        if !self.context.sources.vms.is_configured() {
            self.waiting.insert(key);
            return Ok(Action::AwaitChange);
        }
        let began = Instant::now();
        let outcome = self.run(&key.0, began).await;
        if outcome.is_err() {
            self.context.metrics.failed(began.elapsed());
        }
        self.waiting.wait_for_data(key, outcome)
    }
}

impl UsageController {
    /// To be called once per process: it follows the snapshots of VMs from now on.
    pub fn new(context: Context) -> Self {
        let waiting = WaitingProjects::follow(&context.sources.vms, context.requests.clone());
        Self { context, waiting, last_runs: Mutex::default(), problems: Problems::default() }
    }

    /// Whether there can be VMs to read, now or later.
    pub fn has_source(&self) -> bool {
        self.context.sources.vms.may_be_configured()
    }

    pub fn requests(&self) -> &Requests<ProjectKey> {
        &self.context.requests
    }

    /// The commitments of a project and what a run would do now.
    pub fn dry_run(&self, project: &ProjectId) -> Result<(Vec<StoredCommitment>, UsagePlan), Error> {
        let commitments = self.reader().commitments(project)?;
        let plan = plan(&commitments, self.reader().vms(project)?, self.times());
        Ok((commitments, plan))
    }

    async fn run(&self, project: &ProjectId, began: Instant) -> Result<Action, Error> {
        self.settle_doubts(project).await?;
        let commitments = self.reader().commitments(project)?;
        self.problems.log(project, &commitments);
        if commitments.is_empty() {
            self.forget(project);
            return Ok(Action::AwaitChange);
        }
        let vms = self.reader().vms(project)?;
        let times = self.times();
        let plan = plan(&commitments, vms, times);
        self.context.commitments.patch_statuses_of_versions(&plan.changes).await?;
        self.report(project, &plan, began);
        Ok(self.next_run(&plan, times))
    }

    fn times(&self) -> Times {
        Times::of(&*self.context.clock)
    }

    fn reader(&self) -> Reader<'_> {
        Reader(&self.context.sources)
    }

    async fn settle_doubts(&self, project: &ProjectId) -> Result<(), Error> {
        let commitments = &self.context.commitments;
        let of_project = |object: Arc<CommittedResource>| object.spec.project_id == project.as_str();
        Ok(commitments.settle_doubts(|key| commitments.store().get(key).is_some_and(of_project)).await?)
    }

    fn report(&self, project: &ProjectId, plan: &UsagePlan, began: Instant) {
        let former = self.last_runs.lock().insert(project.clone(), Instant::now());
        self.context.metrics.show_assigned(project, plan.assigned_vms());
        if !plan.assignment.usages.is_empty() {
            let age = former.map(|former| began.saturating_duration_since(former));
            self.context.metrics.succeeded(began.elapsed(), age);
        }
    }

    fn forget(&self, project: &ProjectId) {
        self.last_runs.lock().remove(project);
        self.context.metrics.show_assigned(project, 0);
    }

    /// At the next start or end, and once per period.
    fn next_run(&self, plan: &UsagePlan, times: Times) -> Action {
        let until = |moment: Timestamp| Duration::try_from(moment.duration_since(times.now)).unwrap_or_default();
        let next = plan.next.map_or(Duration::MAX, until);
        let retry = if !times.is_trusted && plan.has_kept() { RETRY } else { Duration::MAX };
        Action::RequeueAfter(self.context.settings.period.min(next).min(retry))
    }
}
