//! Constructs the controllers that free capacity: of over-booked hosts, and of VMs that have landed.

use std::sync::Arc;

use berth_cluster::DisruptionLimit;
use berth_reservation::in_flight::{self, InFlightController};
use berth_reservation::oversubscription::{self, Evictions, OversubscriptionController};
use berth_telemetry::config::Configuration;

use super::controllers::pauses;
use super::vms::SnapshotVmSizes;
use super::{Environment, Memory};

/// The controller that evicts slots from over-booked hosts, if that is configured.
pub(super) fn oversubscription(
    memory: &Memory,
    environment: &Environment<'_>,
    evictions: Evictions,
    disruption_limit: DisruptionLimit,
) -> Option<Arc<OversubscriptionController>> {
    let keys = &environment.configuration.reservation_controller;
    let context = oversubscription::Context {
        reservations: environment.writer(&memory.stores.reservations),
        hypervisors: memory.stores.hypervisors.clone(),
        view: memory.scheduler.clone(),
        pauses: pauses(memory, environment),
        disruption_limit,
        evictions,
        slots: memory.queues.slots.clone(),
        metrics: environment.metrics.oversubscription.clone(),
        settings: settings(environment.configuration),
    };
    keys.enable_oversubscription_check.then(|| Arc::new(OversubscriptionController::new(context)))
}

pub(super) fn in_flight(memory: &Memory, environment: &Environment<'_>) -> Arc<InFlightController> {
    Arc::new(InFlightController::new(in_flight::Context {
        reservations: environment.writer(&memory.stores.reservations),
        hypervisors: memory.stores.hypervisors.clone(),
        vm_sizes: Arc::new(SnapshotVmSizes::new(memory.vms.clone())),
        clock: environment.clock.clone(),
        metrics: environment.metrics.in_flight.clone(),
    }))
}

pub(super) fn settings(configuration: &Configuration) -> oversubscription::Settings {
    let keys = &configuration.reservation_controller;
    oversubscription::Settings {
        grace: keys.oversubscription_grace_period,
        interval: keys.oversubscription_min_check_interval,
        evict: keys.enable_oversubscription_eviction,
        evict_occupied: keys.oversubscription_evict_occupied,
    }
}
