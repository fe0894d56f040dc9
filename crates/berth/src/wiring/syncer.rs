//! The syncer of an operator: its controller, and the runs that fetch the list of Limes.

use std::sync::Arc;

use berth_cluster::{DisruptionLimit, Requests};
use berth_committed_resource::orphans::ListedCommitments;
use berth_core::GroupName;
use berth_core::liquid::units::RamUnit;
use berth_limes_syncer::{Context, Fetcher, FetcherParts, Jitter, LimesClient, Settings, SyncController, Views};
use jiff::Timestamp;
use uuid::Uuid;

use super::controllers::pauses;
use super::{Environment, Memory};

/// The controller and its source, if the syncer is to run.
#[derive(Clone)]
pub(super) struct Syncer {
    pub(super) controller: Arc<SyncController>,
    limes: Arc<dyn LimesClient>,
}

impl Syncer {
    pub(super) fn new(
        memory: &Memory,
        environment: &Environment<'_>,
        disruption_limit: DisruptionLimit,
    ) -> Option<Self> {
        let (stores, configuration) = (&memory.stores, environment.configuration);
        let limes = environment.limes.clone()?;
        let controller = SyncController::new(Context {
            commitments: environment.writer(&stores.commitments),
            changes: stores.changes.clone(),
            reservations: stores.reservations.clone(),
            routes: environment.routes.clone(),
            pauses: pauses(memory, environment),
            disruption_limit,
            clock: environment.clock.clone(),
            events: environment.events.clone(),
            metrics: environment.metrics.syncer.clone(),
            requests: Requests::closed(),
            settings: Settings {
                quiet_period: configuration.committed_resource_api.change_quiet_period,
                ends_stale: configuration.syncer.end_stale_commitments,
            },
        });
        Some(Self { controller: Arc::new(controller), limes })
    }

    /// What the controller of orphaned slots asks.
    pub(super) fn listed(&self) -> Arc<dyn ListedCommitments> {
        Arc::new(ListedInViews(self.controller.views().clone()))
    }

    /// The runs.
    pub(super) fn fetcher(&self, memory: &Memory, environment: &Environment<'_>) -> Fetcher {
        let keys = &environment.configuration.syncer;
        let parts = FetcherParts {
            limes: self.limes.clone(),
            views: self.controller.views().clone(),
            recent: self.controller.recent().clone(),
            requests: self.controller.requests().clone(),
            commitments: memory.stores.commitments.clone(),
            routes: environment.routes.clone(),
            groups: memory.flavor_groups.clone(),
            ram_units: Arc::new(ram_units(memory)),
            clock: environment.clock.clone(),
            metrics: environment.metrics.syncer.clone(),
            services: keys.services(),
            interval: keys.period(),
            requests_per_second: keys.requests_per_second,
            requests_in_flight: keys.requests_in_flight,
        };
        Fetcher::new(parts, jitter())
    }
}

struct ListedInViews(Views);

impl ListedCommitments for ListedInViews {
    fn unlisted_since(&self, uuid: &str) -> Option<Timestamp> {
        self.0.unlisted_since(uuid)
    }
}

/// The unit that was published for the group: Limes counts in it even if another one is configured meanwhile.
fn ram_units(memory: &Memory) -> impl Fn(&GroupName) -> Option<RamUnit> + Send + Sync + 'static {
    let (published, config) = (memory.published_info.clone(), memory.service_info.config.clone());
    move |group| {
        let in_use = published.get().and_then(|published| published.ram_unit(group));
        in_use.or_else(|| config.of(group).ram_unit().ok())
    }
}

/// Replicas must not ask at the same moments.
fn jitter() -> Jitter {
    Box::new(|| Uuid::new_v4().as_fields().0)
}
