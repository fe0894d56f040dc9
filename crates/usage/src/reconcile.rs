//! The controller: read, plan, apply (`docs/architecture.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, FlavorGroupsCache, ObjectField, ProjectKey, Reconciler, Requests, Right, Routes, Store, Verb, Watches,
    Writer,
};
use berth_core::ProjectId;
use berth_crds::{CommittedResource, Hypervisor};
use berth_telemetry::clock::Clock;
use berth_vm_source::VmSource;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::debug;

use crate::apply::write_all;
use crate::error::Error;
use crate::metrics::UsageMetrics;
use crate::plan::{StoredCommitment, UsagePlan, plan};
use crate::problems::Problems;
use crate::read::Reader;
use crate::times::Times;
use crate::watches::{Watched, all_projects};

/// When a project is tried again whose data is missing and that nothing has requested meanwhile.
const RETRY: Duration = Duration::from_secs(60);

/// The dependencies of the controller.
pub struct Context {
    pub commitments: Writer<CommittedResource>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    pub flavor_groups: FlavorGroupsCache,
    pub vms: VmSource,
    pub routes: Routes,
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

/// Projects that wait until the VMs are known.
type WaitingProjects = Arc<Mutex<BTreeSet<ProjectKey>>>;

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
        let Context { commitments, hypervisors, flavor_groups, vms, .. } = &self.context;
        Watched { commitments: commitments.store(), hypervisors, flavor_groups, vms }.declare(watches);
    }

    fn first_keys(&self) -> Vec<ProjectKey> {
        all_projects(self.context.commitments.store()).into_iter().collect()
    }

    async fn reconcile(&self, key: ProjectKey) -> Result<Action, Error> {
        if !self.context.vms.is_configured() {
            self.waiting.lock().insert(key);
            return Ok(Action::AwaitChange);
        }
        let began = Instant::now();
        match self.run(&key.0, began).await {
            Ok(action) => Ok(action),
            Err(error) => {
                self.context.metrics.failed(began.elapsed());
                if !error.waits_for_data() {
                    return Err(error);
                }
                debug!(%error, "usage not computed");
                self.waiting.lock().insert(key);
                Ok(Action::RequeueAfter(RETRY))
            }
        }
    }
}

impl UsageController {
    /// To be called once per process: it follows the snapshots of VMs from now on.
    pub fn new(context: Context) -> Self {
        let waiting = WaitingProjects::default();
        let (requests, waits) = (context.requests.clone(), waiting.clone());
        context.vms.on_change(move |change| {
            let changed = change.present.changed_projects(&change.former).into_iter().map(ProjectKey);
            let waited = std::mem::take(&mut *waits.lock());
            requests.add(changed.chain(waited));
        });
        Self { context, waiting, last_runs: Mutex::default(), problems: Problems::default() }
    }

    /// Whether there can be VMs to read, now or later.
    pub fn has_source(&self) -> bool {
        self.context.vms.may_be_configured()
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
        write_all(&self.context.commitments, &plan.changes).await?;
        self.report(project, &plan, began);
        Ok(self.next_run(&plan, times))
    }

    fn times(&self) -> Times {
        match self.context.clock.trusted_now() {
            Ok(now) => Times { now, is_trusted: true },
            Err(_) => Times { now: self.context.clock.now(), is_trusted: false },
        }
    }

    fn reader(&self) -> Reader<'_> {
        let Context { commitments, hypervisors, flavor_groups, vms, routes, .. } = &self.context;
        Reader { commitments: commitments.store(), hypervisors, flavor_groups, vms, routes }
    }

    /// Reads commitments whose state is not known again before anything is decided about them.
    async fn settle_doubts(&self, project: &ProjectId) -> Result<(), Error> {
        let store = self.context.commitments.store();
        for key in store.doubts() {
            let is_of_project = store.get(&key).is_some_and(|object| object.spec.project_id == project.as_str());
            if is_of_project {
                self.context.commitments.settle(&key).await?;
            }
        }
        Ok(())
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
