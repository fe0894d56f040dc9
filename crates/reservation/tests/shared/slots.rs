//! The controller of slots in a small world, as the tests of several crates run it.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{DisruptionLimit, Events, FlavorGroupsCache, Routes};
use berth_reservation::{Context, Delays, ReservationController, ReservationMetrics, Settings};
use berth_scheduler::{BuiltIn, NoDomainNames, PipelineChoice};
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::World;
use berth_vm_source::VmSource;

pub const DELAYS: Delays = Delays {
    active: Duration::from_secs(300),
    retry: Duration::from_secs(60),
    grace: Duration::from_secs(900),
    allocation: Duration::from_secs(900),
};

pub fn slots(
    world: &World,
    clock: &Arc<dyn Clock>,
    disruption_limit: DisruptionLimit,
    delays: Delays,
    events: Events,
    vms: &VmSource,
) -> ReservationController<BuiltIn> {
    let (stores, metrics) = (&world.stores, Metrics::new(&[].into()).unwrap());
    ReservationController::new(Context {
        reservations: world.writer(&stores.reservations),
        commitments: stores.commitments.clone(),
        hypervisors: stores.hypervisors.clone(),
        pipelines: stores.pipelines.clone(),
        routes: Routes::home_only(),
        ids: FreshIds::counted(),
        flavor_groups: FlavorGroupsCache::new(stores.knowledges.clone()),
        pauses: world.pauses(),
        disruption_limit,
        scheduler: world.scheduler.clone(),
        domain_names: Arc::new(NoDomainNames),
        clock: clock.clone(),
        events,
        metrics: ReservationMetrics::register(&metrics, &stores.reservations).unwrap(),
        settings: Settings { delays, pipelines: PipelineChoice::default(), adopts_vms: true },
        requests: world.slots.clone(),
        vms: vms.clone(),
    })
}
