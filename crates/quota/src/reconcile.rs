//! The controller: read, plan, apply (`docs/architecture.md`).

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Action, ObjectField, ProjectKey, Reconciler, Requests, Right, Verb, Watches, WriteError, Writer};
use berth_core::ProjectId;
use berth_core::commitment::State;
use berth_core::liquid::units::UnitOf;
use berth_core::quota::ProjectUsage;
use berth_crds::ProjectQuota;
use berth_projects::{Error, ProjectSources, Times, WaitingProjects};
use berth_telemetry::clock::Clock;
use tokio::time::Instant;

use crate::metrics::QuotaMetrics;
use crate::plan::plan;
use crate::read::Reader;
use crate::watches::{all_projects, declare};

/// The dependencies of the controller.
pub struct Context {
    pub quotas: Writer<ProjectQuota>,
    pub sources: ProjectSources,
    pub unit_of: UnitOf,
    pub clock: Arc<dyn Clock>,
    pub metrics: QuotaMetrics,
    /// Where projects are enqueued whose VMs have changed.
    pub requests: Requests<ProjectKey>,
    pub settings: Settings,
}

/// The settings of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `fullReconcileInterval`: the period of runs without a cause.
    pub period: Duration,
    /// `crStateFilter`: the states of commitments that pay for VMs.
    pub states: Vec<State>,
    /// `enableHVDiff`: changes of hosts are followed at once.
    pub follows_hosts: bool,
}

/// Computes and writes the usage of quota.
pub struct QuotaController {
    context: Context,
    waiting: WaitingProjects,
}

impl Reconciler for QuotaController {
    const NAME: &'static str = "quota";
    const OBJECT: ObjectField = ObjectField::Project;
    type Key = ProjectKey;
    type Settings = ();
    type Error = Error;

    fn rights((): &()) -> Vec<Right> {
        vec![
            Right::kind::<ProjectQuota>(&[Verb::Get]).because("A quota of unknown state is read again."),
            Right::status::<ProjectQuota>(&[Verb::Patch]).because("What is used of a quota."),
        ]
    }

    fn watches(&self, watches: &mut Watches<ProjectKey>) {
        let Context { quotas, sources, settings, .. } = &self.context;
        declare(watches, quotas.store(), sources, settings.follows_hosts);
    }

    fn first_keys(&self) -> Vec<ProjectKey> {
        all_projects(self.context.quotas.store()).into_iter().collect()
    }

    async fn reconcile(&self, key: ProjectKey) -> Result<Action, Error> {
        if !self.context.sources.vms.is_configured() {
            self.waiting.insert(key);
            return Ok(Action::AwaitChange);
        }
        let outcome = self.run(&key.0).await;
        if outcome.as_ref().is_err_and(is_failure) {
            self.context.metrics.failed();
        }
        self.waiting.wait_for_data(key, outcome)
    }
}

impl QuotaController {
    /// To be called once per process: it follows the snapshots of VMs from now on.
    pub fn new(context: Context) -> Self {
        let waiting = WaitingProjects::follow(&context.sources.vms, context.requests.clone());
        Self { context, waiting }
    }

    /// Whether there can be VMs to read, now or later.
    pub fn has_source(&self) -> bool {
        self.context.sources.vms.may_be_configured()
    }

    pub fn requests(&self) -> &Requests<ProjectKey> {
        &self.context.requests
    }

    async fn run(&self, project: &ProjectId) -> Result<Action, Error> {
        let began = Instant::now();
        self.settle_doubts(project).await?;
        let quotas = self.reader().quotas(project);
        if quotas.is_empty() {
            self.context.metrics.show(project, &ProjectUsage::new());
            return Ok(Action::AwaitChange);
        }
        let usage = self.reader().usage(project)?;
        self.context.metrics.show(project, &usage);
        let changes = plan(quotas, &usage, &self.context.unit_of, self.times());
        self.context.quotas.patch_statuses_of_versions(&changes).await?;
        self.context.metrics.succeeded(began.elapsed());
        Ok(Action::RequeueAfter(self.context.settings.period))
    }

    async fn settle_doubts(&self, project: &ProjectId) -> Result<(), Error> {
        let quotas = &self.context.quotas;
        let of_project = |object: Arc<ProjectQuota>| object.spec.project_id == project.as_str();
        Ok(quotas.settle_doubts(|key| quotas.store().get(key).is_some_and(of_project)).await?)
    }

    fn times(&self) -> Times {
        Times::of(&*self.context.clock)
    }

    fn reader(&self) -> Reader<'_> {
        let Context { quotas, sources, unit_of, settings, .. } = &self.context;
        Reader { quotas: quotas.store(), sources, states: &settings.states, unit_of }
    }
}

/// After a conflict the usage is computed again for the object that another client has written.
fn is_failure(error: &Error) -> bool {
    !matches!(error, Error::Write(WriteError::Conflict { .. }))
}
