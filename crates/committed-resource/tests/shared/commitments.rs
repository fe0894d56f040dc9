//! The controller of commitments in a small world, as the tests of several crates run it.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{DisruptionLimit, Events, FlavorGroupsCache, Routes};
use berth_committed_resource::{
    CommitmentMetrics, CommittedResourceController, Context, CoresBook, Delays, Limits, Settings,
};
use berth_scheduler::{NoDomainNames, PipelineChoice, Scheduler};
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::World;
use berth_vm_source::VmSource;

pub fn commitments_with<S: Scheduler>(
    world: &World,
    clock: &Arc<dyn Clock>,
    disruption_limit: DisruptionLimit,
    scheduler: Arc<S>,
    events: Events,
    vms: &VmSource,
) -> CommittedResourceController<S> {
    let (stores, metrics) = (&world.stores, Metrics::new(&[].into()).unwrap());
    CommittedResourceController::new(Context {
        commitments: world.writer(&stores.commitments),
        reservations: world.writer(&stores.reservations),
        hypervisors: stores.hypervisors.clone(),
        pipelines: stores.pipelines.clone(),
        routes: Routes::home_only(),
        ids: FreshIds::counted(),
        flavor_groups: FlavorGroupsCache::new(stores.knowledges.clone()),
        pauses: world.pauses(),
        disruption_limit,
        scheduler,
        domain_names: Arc::new(NoDomainNames),
        clock: clock.clone(),
        events,
        metrics: CommitmentMetrics::register(&metrics, stores.commitments.clone()).unwrap(),
        settings: Settings {
            limits: Limits::default(),
            delays: Delays { retry: Duration::from_secs(30), cap: Duration::from_secs(1800) },
            pipelines: PipelineChoice::default(),
            slot_creation_delay: Duration::ZERO,
            takes_over_vms: true,
        },
        cores: Arc::new(CoresBook::new(
            stores.commitments.clone(),
            stores.capacities.clone(),
            stores.changes.clone(),
            Routes::home_only(),
            world.pauses(),
            world.commitments.clone(),
        )),
        changes: stores.changes.clone(),
        vms: vms.clone(),
    })
}
