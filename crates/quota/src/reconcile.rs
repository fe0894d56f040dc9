//! The controller: read, compute, write (`docs/architecture.md`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Action, FlavorGroupsCache, ObjectField, ProjectKey, Reconciler, Requests, Right, Routes, Store, Verb, Watches,
    Writer,
};
use berth_core::commitment::State;
use berth_core::liquid::units::UnitOf;
use berth_core::quota::ProjectUsage;
use berth_core::{ProjectId, Zone};
use berth_crds::{CommittedResource, Hypervisor, ProjectQuota};
use berth_telemetry::clock::Clock;
use berth_vm_source::VmSource;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::debug;

use crate::error::Error;
use crate::metrics::QuotaMetrics;
use crate::read::Reader;
use crate::status::with_usage;
use crate::watches::{Watched, all_projects};

/// When a project is tried again whose data is missing and that nothing has requested meanwhile.
const RETRY: Duration = Duration::from_secs(60);

/// The dependencies of the controller.
pub struct Context {
    pub quotas: Writer<ProjectQuota>,
    /// Read only.
    pub commitments: Store<CommittedResource>,
    /// Hosts, read only.
    pub hypervisors: Store<Hypervisor>,
    pub flavor_groups: FlavorGroupsCache,
    pub vms: VmSource,
    pub routes: Routes,
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

/// Projects that wait until the VMs are known.
type WaitingProjects = Arc<Mutex<BTreeSet<ProjectKey>>>;

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
        let Context { quotas, commitments, hypervisors, flavor_groups, vms, .. } = &self.context;
        let (quotas, follows_hosts) = (quotas.store(), self.context.settings.follows_hosts);
        Watched { quotas, commitments, hypervisors, flavor_groups, vms, follows_hosts }.declare(watches);
    }

    fn first_keys(&self) -> Vec<ProjectKey> {
        all_projects(self.context.quotas.store()).into_iter().collect()
    }

    async fn reconcile(&self, key: ProjectKey) -> Result<Action, Error> {
        if !self.context.vms.is_configured() {
            self.waiting.lock().insert(key);
            return Ok(Action::AwaitChange);
        }
        match self.run(&key.0).await {
            Ok(action) => Ok(action),
            Err(error) => {
                self.context.metrics.failed();
                if !error.waits_for_data() {
                    return Err(error);
                }
                debug!(%error, "usage of quota not computed");
                self.waiting.lock().insert(key);
                Ok(Action::RequeueAfter(RETRY))
            }
        }
    }
}

impl QuotaController {
    /// To be called once per process: it follows the snapshots of VMs from now on.
    pub fn new(context: Context) -> Self {
        let waiting = WaitingProjects::default();
        let (requests, waits) = (context.requests.clone(), waiting.clone());
        context.vms.on_change(move |change| {
            let changed = change.present.changed_projects(&change.former).into_iter().map(ProjectKey);
            let waited = std::mem::take(&mut *waits.lock());
            requests.add(changed.chain(waited));
        });
        Self { context, waiting }
    }

    /// Whether there can be VMs to read, now or later.
    pub fn has_source(&self) -> bool {
        self.context.vms.may_be_configured()
    }

    pub fn requests(&self) -> &Requests<ProjectKey> {
        &self.context.requests
    }

    async fn run(&self, project: &ProjectId) -> Result<Action, Error> {
        let began = Instant::now();
        self.settle_doubts(project).await?;
        if self.reader().quotas(project).is_empty() {
            self.context.metrics.show(project, &ProjectUsage::new());
            return Ok(Action::AwaitChange);
        }
        let usage = self.reader().usage(project)?;
        self.context.metrics.show(project, &usage);
        self.write_all(project, &usage).await?;
        self.context.metrics.succeeded(began.elapsed());
        Ok(Action::RequeueAfter(self.context.settings.period))
    }

    /// Reads objects whose state is not known again before anything is decided about them.
    async fn settle_doubts(&self, project: &ProjectId) -> Result<(), Error> {
        let store = self.context.quotas.store();
        for key in store.doubts() {
            let is_of_project = store.get(&key).is_some_and(|object| object.spec.project_id == project.as_str());
            if is_of_project {
                self.context.quotas.settle(&key).await?;
            }
        }
        Ok(())
    }

    /// The first error, after all others were written: they do not depend on each other. An object that was changed
    /// meanwhile is not written, and its usage is computed again.
    async fn write_all(&self, project: &ProjectId, usage: &ProjectUsage) -> Result<(), Error> {
        let mut outcome = Ok(());
        for entry in self.reader().quotas(project) {
            let zone = Zone::from(entry.object.spec.availability_zone.as_str());
            let of_zone = usage.get(&zone).cloned().unwrap_or_default();
            let Some(new) = with_usage(&entry.object, &of_zone, &self.context.unit_of, self.times()) else { continue };
            let written = self.context.quotas.patch_status_of_version(&entry.key, &entry.object, &new).await;
            outcome = outcome.and(written.map(drop).map_err(Error::from));
        }
        outcome
    }

    /// The time, and whether it may decide that a refresh is due.
    fn times(&self) -> (jiff::Timestamp, bool) {
        let trusted = self.context.clock.trusted_now().ok();
        (trusted.unwrap_or_else(|| self.context.clock.now()), trusted.is_some())
    }

    fn reader(&self) -> Reader<'_> {
        let Context { quotas, commitments, hypervisors, flavor_groups, vms, routes, unit_of, settings, .. } =
            &self.context;
        let (quotas, states) = (quotas.store(), &settings.states);
        Reader { quotas, commitments, hypervisors, flavor_groups, vms, routes, states, unit_of }
    }
}
