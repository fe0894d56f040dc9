//! The controllers that give room back: of over-booked hosts, and of VMs that have landed. How they are made, and which
//! events concern them.

use std::sync::Arc;

use berth_cluster::{Brake, Change, Store};
use berth_core::ClusterName;
use berth_crds::{Hypervisor, Reservation};
use berth_reservation::{
    in_flight::{self, InFlightController, NoVmSizes},
    oversubscription::{self, Evictions, OversubscriptionController},
};
use berth_telemetry::config::Configuration;

use super::{
    Environment, Memory,
    controllers::freezer,
    events::{Queues, Stores, wake_all},
};

/// Whoever relieves over-booked hosts, if that is configured.
pub(super) fn oversubscription(
    memory: &Memory,
    environment: &Environment<'_>,
    evictions: Evictions,
    brake: Brake,
) -> Option<Arc<OversubscriptionController>> {
    let keys = &environment.configuration.reservation_controller;
    let parts = oversubscription::Parts {
        reservations: environment.writer(&memory.stores.reservations),
        hypervisors: memory.stores.hypervisors.clone(),
        view: memory.scheduler.clone(),
        freezer: freezer(memory, environment),
        brake,
        evictions,
        metrics: environment.metrics.oversubscription.clone(),
        settings: settings(environment.configuration),
    };
    keys.enable_oversubscription_check.then(|| Arc::new(OversubscriptionController::new(parts)))
}

/// Whoever ends in-flight reservations.
pub(super) fn in_flight(memory: &Memory, environment: &Environment<'_>) -> Arc<InFlightController<NoVmSizes>> {
    Arc::new(InFlightController::new(in_flight::Parts {
        reservations: environment.writer(&memory.stores.reservations),
        hypervisors: memory.stores.hypervisors.clone(),
        vm_sizes: NoVmSizes,
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

/// To be called when the capacity view hears of everything already.
pub(super) fn wake(stores: &Stores, queues: &Queues) {
    wake_hosts(stores, queues);
    wake_in_flight(stores, queues);
}

fn wake_hosts(Stores { reservations, hypervisors, .. }: &Stores, queues: &Queues) {
    use oversubscription::wake;
    let (queue, store) = (queues.hosts.clone(), hypervisors.clone());
    hypervisors.on_change(move |change| wake_all(&queue, wake::by_hypervisor(change, &store)));
    let (queue, store) = (queues.hosts.clone(), hypervisors.clone());
    reservations.on_change(move |change| wake_all(&queue, wake::by_reservation(change, &store)));
    let (queue, store) = (queues.hosts.clone(), hypervisors.clone());
    hypervisors.on_followed(move |cluster| wake_all(&queue, wake::by_cluster(cluster, &store)));
    let (queue, store) = (queues.hosts.clone(), hypervisors.clone());
    reservations.on_followed(move |cluster| wake_all(&queue, wake::by_cluster(cluster, &store)));
}

fn wake_in_flight(Stores { reservations, hypervisors, .. }: &Stores, queues: &Queues) {
    use in_flight::wake;
    let queue = queues.in_flight.clone();
    reservations.on_change(move |change: &Change<Reservation>| wake_all(&queue, wake::by_reservation(change)));
    let (queue, store) = (queues.in_flight.clone(), reservations.clone());
    hypervisors.on_change(move |change: &Change<Hypervisor>| wake_all(&queue, wake::by_hypervisor(change, &store)));
    let again = |store: Store<Reservation>, queue: &Queues| {
        let queue = queue.in_flight.clone();
        move |_: &ClusterName| wake_all(&queue, wake::all(&store))
    };
    hypervisors.on_followed(again(reservations.clone(), queues));
    reservations.on_followed(again(reservations.clone(), queues));
}
