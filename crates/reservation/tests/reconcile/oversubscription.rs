//! Reconciliations of over-booked hosts, together with those of their slots.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::{failing, opened};
use berth_cluster::{Action, Classified, ErrorClass, ObjectKey, Pauses, Reconciler as _, Requests};
use berth_core::ClusterName;
use berth_crds::conditions::{find, safety};
use berth_crds::{Hypervisor, Reservation, labels};
use berth_reservation::oversubscription::{Context, OversubscriptionController, OversubscriptionMetrics, Settings};
use berth_telemetry::config::Pause;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Fault, Verb, next, seeds};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{Process, UUID, begin, name, path};

const TIMEOUT: Duration = Duration::from_secs(120);
const INTERVAL: Duration = Duration::from_secs(30);
const SETTINGS: Settings = Settings { grace: TIMEOUT, interval: INTERVAL, evict: true, evict_occupied: false };

/// The process of the slots with the controller of hosts.
struct Hosts {
    process: Process,
    controller: Arc<OversubscriptionController>,
    metrics: Metrics,
    queue: Requests<ObjectKey>,
}

/// Ready hosts with free capacity for this many slots each, and one ready slot for each of these names.
async fn hosts(free_capacities: &[(&str, u64)], slots: &[&str], settings: Settings) -> Hosts {
    let process = begin(&[]);
    let (server, now) = (&process.world.server, process.clock.now());
    for (host, free) in free_capacities {
        server.create(&seeds::ready(seeds::host(host, *free), now)).unwrap();
    }
    let hosts = control(process, settings);
    for (number, host) in (0..).zip(slots) {
        hosts.process.make(number, Some(host));
    }
    assert_eq!(hosts.process.settle().await, []);
    hosts.process.world.server.take_log();
    sleep(INTERVAL).await;
    hosts
}

fn control(process: Process, settings: Settings) -> Hosts {
    let (world, queue) = (&process.world, opened());
    let metrics = Metrics::new(&[].into()).unwrap();
    let controller = Arc::new(OversubscriptionController::new(Context {
        reservations: world.writer(&world.stores.reservations),
        hypervisors: world.stores.hypervisors.clone(),
        view: world.scheduler.clone(),
        pauses: Pauses::new(Pause::default(), world.stores.commitments.clone(), world.stores.reservations.clone()),
        disruption_limit: world.disruption_limit(&process.clock).unwrap(),
        evictions: process.slots.evictions(),
        slots: world.slots.clone(),
        metrics: OversubscriptionMetrics::register(&metrics).unwrap(),
        settings,
    }));
    world.declare(&controller, &queue).unwrap();
    Hosts { process, controller, metrics, queue }
}

impl Hosts {
    fn key(host: &str) -> ObjectKey {
        ObjectKey::new(ClusterName::home(), host)
    }

    /// Sets the size of a host, in slots.
    fn resize(&self, host: &str, free: u64) {
        let size = json!({ "memory": seeds::slots(free), "cpu": (free * seeds::SLOT_CORES).to_string() });
        self.status(host, &json!({ "status": { "effectiveCapacity": size } }));
    }

    fn status(&self, host: &str, patch: &serde_json::Value) {
        self.process.world.server.edit_status::<Hypervisor>(host, patch).unwrap();
    }

    async fn reconcile(&self, host: &str) -> Result<Action, berth_reservation::Error> {
        self.process.world.deliver().unwrap();
        self.controller.reconcile(Self::key(host)).await
    }

    async fn settle(&self) {
        loop {
            assert_eq!(self.process.settle().await, []);
            let Some(key) = next(&self.queue) else { return };
            self.controller.reconcile(key).await.unwrap();
        }
    }

    fn enqueued(&self) -> Vec<String> {
        self.process.world.deliver().unwrap();
        std::iter::from_fn(|| next(&self.queue)).map(|key| key.name.to_string()).collect()
    }

    /// The lines of the metrics, without their common prefix.
    fn shown(&self) -> Vec<String> {
        let text = self.metrics.render();
        let values = text.lines().filter_map(|line| line.strip_prefix("cortex_committed_resource_host_oversubscribed"));
        values.map(str::to_owned).collect()
    }

    fn writes(&self) -> Vec<String> {
        self.process.world.server.take_log()
    }
}

/// What [`Hosts::shown`] returns for `node1` with this many slots too many.
fn too_many(count: u64) -> Vec<String> {
    let of =
        |resource: &str, amount: u64| format!("{{az=\"eu-test-1a\",host=\"node1\",resource=\"{resource}\"}} {amount}");
    vec![of("cpu", count * seeds::SLOT_CORES), of("memory", (count * seeds::SLOT_GIB) << 30)]
}

fn on(host: &str) -> (Option<String>, Option<String>) {
    (Some(host.to_owned()), Some(host.to_owned()))
}

/// `node1` with two slots has shrunk to one, and the operator has seen that.
async fn shrunk() -> Hosts {
    let hosts = hosts(&[("node1", 2), ("node2", 2)], &["node1", "node1"], SETTINGS).await;
    hosts.resize("node1", 1);
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(TIMEOUT));
    hosts
}

#[tokio::test(start_paused = true)]
async fn after_the_grace_one_slot_leaves_a_host_that_has_shrunk_and_finds_another() {
    let hosts = shrunk().await;
    assert_eq!(hosts.shown(), too_many(1));
    sleep(TIMEOUT.saturating_sub(Duration::from_secs(1))).await;
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(Duration::from_secs(1)));
    assert_eq!(hosts.writes(), [""; 0]);
    sleep(INTERVAL).await;
    hosts.reconcile("node1").await.unwrap();
    let evicted = format!("patch reservations/{}", name(0));
    assert_eq!(hosts.writes(), [evicted], "one patch; ties go by name");
    let counted = "_evicted_reservations_total{az=\"eu-test-1a\"} 1";
    assert_eq!(hosts.shown(), [counted], "the series goes with the excess");
    hosts.process.reconcile(0).await.unwrap();
    let ready = hosts.process.ready(0);
    let text = "target host was cleared; pending re-placement: host node1 held 480Gi memory, 30 cores more than it has";
    assert_eq!((ready.reason.as_str(), ready.message.as_str()), ("PlacementRevoked", text));
    hosts.settle().await;
    assert_eq!((hosts.process.hosts(0), hosts.process.hosts(1)), (on("node2"), on("node1")));
    hosts.process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn as_many_slots_as_are_needed_leave_in_one_reconciliation() {
    let hosts = hosts(&[("node1", 4), ("node2", 4)], &["node1"; 4], SETTINGS).await;
    hosts.resize("node1", 1);
    hosts.reconcile("node1").await.unwrap();
    sleep(TIMEOUT).await;
    hosts.reconcile("node1").await.unwrap();
    assert_eq!(hosts.writes().len(), 3);
    hosts.settle().await;
    let at = |host: &str| (0..4).filter(|number| hosts.process.hosts(*number) == on(host)).count();
    assert_eq!((at("node1"), at("node2")), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_violation_that_is_over_by_itself_begins_a_new_grace_the_next_time() {
    let hosts = shrunk().await;
    sleep(TIMEOUT.saturating_sub(INTERVAL)).await;
    hosts.resize("node1", 2);
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::AwaitChange);
    assert_eq!(hosts.shown(), [""; 0]);
    sleep(INTERVAL).await;
    hosts.resize("node1", 1);
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(TIMEOUT));
}

#[tokio::test(start_paused = true)]
async fn a_host_is_checked_once_per_interval_and_a_failed_read_does_not_count() {
    let hosts = hosts(&[("node1", 2)], &["node1", "node1"], SETTINGS).await;
    let (store, home) = (hosts.process.world.stores.reservations.clone(), ClusterName::home());
    failing(&store, &home, Some("cut"));
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(INTERVAL));
    failing(&store, &home, None);
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::AwaitChange);
    sleep(Duration::from_secs(10)).await;
    hosts.resize("node1", 1);
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(Duration::from_secs(20)));
    assert_eq!(hosts.shown(), [""; 0], "not checked yet");
}

#[tokio::test(start_paused = true)]
async fn no_slot_is_evicted_on_a_partial_read() {
    for kind in ["reservations", "hypervisors"] {
        let hosts = shrunk().await;
        let (stores, home) = (&hosts.process.world.stores, ClusterName::home());
        let fail = |why| match kind {
            "reservations" => failing(&stores.reservations, &home, why),
            _ => failing(&stores.hypervisors, &home, why),
        };
        fail(Some("cut"));
        sleep(TIMEOUT).await;
        assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(INTERVAL), "{kind}");
        fail(None);
        assert_eq!(
            hosts.reconcile("node1").await.unwrap(),
            Action::RequeueAfter(TIMEOUT),
            "{kind}: there was no watch in the meantime"
        );
        assert_eq!(hosts.writes(), [""; 0], "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reservation_that_cannot_be_read_stops_the_hosts_that_it_names_and_no_others() {
    for (named, writes) in [("node1", 0), ("node2", 1)] {
        let hosts = shrunk().await;
        let broken = json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
            "metadata": { "name": "broken", "uid": "u", "resourceVersion": "1" },
            "spec": { "type": "FromTheFuture", "targetHost": named },
        });
        let store = &hosts.process.world.stores.reservations;
        berth_cluster::testing::applied_raw(store, &ClusterName::home(), broken).unwrap();
        sleep(TIMEOUT).await;
        hosts.reconcile("node1").await.unwrap();
        assert_eq!(hosts.writes().len(), writes, "the message names {named}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_not_ready_or_gone_shows_nothing_and_is_forgotten() {
    let hosts = shrunk().await;
    let condition = |status: &str| {
        json!({ "status": { "conditions": [{ "type": "Ready", "status": status, "reason": "x", "message": "",
                "lastTransitionTime": "2026-03-01T12:00:00Z" }] } })
    };
    sleep(TIMEOUT).await;
    hosts.status("node1", &condition("False"));
    assert_eq!((hosts.reconcile("node1").await.unwrap(), hosts.shown()), (Action::AwaitChange, vec![]));
    sleep(INTERVAL).await;
    hosts.status("node1", &condition("True"));
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(TIMEOUT), "the grace starts again");
    assert_eq!(hosts.shown(), too_many(1));
    hosts.process.world.server.delete::<Hypervisor>("node1").unwrap();
    assert_eq!((hosts.reconcile("node1").await.unwrap(), hosts.shown()), (Action::AwaitChange, vec![]));
    assert_eq!(hosts.writes(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn vm_that_comes_into_the_slot_meanwhile_keeps_it() {
    let hosts = shrunk().await;
    sleep(TIMEOUT).await;
    let vm = json!({ "creationTimestamp": "2026-03-01T08:00:00Z", "resources": { "memory": "480Gi", "cpu": "30" } });
    let booked = json!({ "spec": { "committedResourceReservation": { "allocations": { "vm-1": vm } } } });
    hosts.process.world.server.before(Verb::Patch, &path(0), 1, move |server| {
        server.edit::<Reservation>(&name(0), &booked).unwrap();
    });
    assert_eq!(
        hosts.reconcile("node1").await.unwrap_err().class(),
        ErrorClass::Conflict,
        "the precondition on the version"
    );
    assert_eq!(hosts.process.slot(0).spec.target_host.as_deref(), Some("node1"));
    hosts.reconcile("node1").await.unwrap();
    hosts.settle().await;
    assert_eq!((hosts.process.hosts(0), hosts.process.hosts(1)), (on("node1"), on("node2")), "the empty slot leaves");
}

#[tokio::test(start_paused = true)]
async fn an_eviction_of_unknown_outcome_is_read_again_before_anybody_else_leaves() {
    for fault in [Fault::LoseAnswer, Fault::Internal, Fault::Hang] {
        let hosts = shrunk().await;
        sleep(TIMEOUT).await;
        hosts.process.world.server.fail(Verb::Patch, &path(0), 1, fault);
        assert!(hosts.reconcile("node1").await.is_err(), "{fault:?}");
        // Before the watch shows anything.
        hosts.controller.reconcile(Hosts::key("node1")).await.unwrap();
        hosts.settle().await;
        assert_eq!((hosts.process.hosts(0), hosts.process.hosts(1)), (on("node2"), on("node1")), "{fault:?}");
        hosts.process.rests().await;
    }
}

#[tokio::test(start_paused = true)]
async fn slots_with_vms_stay_unless_the_setting_reports_otherwise() {
    for evict_occupied in [false, true] {
        let hosts = hosts(&[("node1", 2), ("node2", 2)], &["node1"], Settings { evict_occupied, ..SETTINGS }).await;
        let vm =
            json!({ "creationTimestamp": "2026-03-01T08:00:00Z", "resources": { "memory": "240Gi", "cpu": "15" } });
        let booked = json!({ "spec": { "committedResourceReservation": { "allocations": { "vm-1": vm } } } });
        hosts.process.edit(0, &booked);
        let runs = json!({ "status": { "instances": [{ "id": "vm-1", "name": "x", "active": true }],
            "allocation": { "memory": "240Gi", "cpu": "15" },
            "effectiveCapacity": { "memory": "300Gi", "cpu": "60" } } });
        hosts.status("node1", &runs);
        hosts.process.settle().await;
        hosts.reconcile("node1").await.unwrap();
        sleep(TIMEOUT).await;
        hosts.reconcile("node1").await.unwrap();
        let data = hosts.process.slot(0).spec;
        let vms = data.committed_resource_reservation.unwrap().allocations.len();
        let expected = if evict_occupied { (None, 0) } else { (Some("node1"), 1) };
        assert_eq!((data.target_host.as_deref(), vms), expected);
        if !evict_occupied {
            assert!(!hosts.shown().is_empty(), "the host stays over-booked, and the metric shows it");
            assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(INTERVAL), "and reconciled again");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn paused_slots_stay_where_they_are_until_they_are_set_free() {
    let hosts = shrunk().await;
    let mut commitment = seeds::waiting_commitment(UUID, 2);
    commitment.metadata.annotations = Some([(labels::PAUSED.to_owned(), String::new())].into());
    hosts.process.world.server.create(&commitment).unwrap();
    sleep(TIMEOUT).await;
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(TIMEOUT), "no slot may leave");
    assert_eq!((hosts.writes(), hosts.shown()), (vec![], too_many(1)));
    let free = json!({ "metadata": { "annotations": { labels::PAUSED: null } } });
    let name = berth_crds::names::commitment(UUID);
    hosts.process.world.server.edit::<berth_crds::CommittedResource>(&name, &free).unwrap();
    sleep(TIMEOUT).await;
    hosts.reconcile("node1").await.unwrap();
    assert_eq!(hosts.writes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_would_lose_nearly_all_slots_keeps_them_until_a_user_confirms() {
    let hosts = hosts(&[("node1", 30), ("node2", 30)], &["node1"; 30], SETTINGS).await;
    hosts.resize("node1", 9);
    hosts.reconcile("node1").await.unwrap();
    sleep(TIMEOUT).await;
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(INTERVAL));
    assert_eq!((hosts.writes(), hosts.shown()), (vec![], too_many(21)), "20 may be moved within 10 minutes");
    sleep(INTERVAL).await;
    hosts.resize("node1", 10);
    hosts.reconcile("node1").await.unwrap();
    assert_eq!(hosts.writes().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn without_eviction_hosts_are_only_counted() {
    let hosts = hosts(&[("node1", 2)], &["node1", "node1"], Settings { evict: false, ..SETTINGS }).await;
    hosts.resize("node1", 1);
    hosts.reconcile("node1").await.unwrap();
    sleep(TIMEOUT).await;
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(TIMEOUT));
    assert_eq!((hosts.shown(), hosts.writes()), (too_many(1), vec![]));
}

#[tokio::test(start_paused = true)]
async fn no_slot_is_evicted_for_one_that_is_leaving_and_what_a_user_clears_is_not_called_evicted() {
    let hosts = shrunk().await;
    sleep(TIMEOUT).await;
    hosts.process.send_to(0, "node2");
    assert_eq!(hosts.reconcile("node1").await.unwrap(), Action::RequeueAfter(INTERVAL));
    hosts.settle().await;
    assert_eq!((hosts.process.hosts(0), hosts.process.hosts(1)), (on("node2"), on("node1")));
    hosts.process.edit(0, &json!({ "spec": { "targetHost": null } }));
    hosts.process.reconcile(0).await.unwrap();
    assert_eq!(hosts.process.ready(0).message, "target host was cleared; pending re-placement");
}

#[tokio::test(start_paused = true)]
async fn what_blocks_a_host_enqueues_it_and_what_does_not_does_not() {
    let hosts = hosts(&[("node1", 4), ("node2", 4)], &["node1"], SETTINGS).await;
    hosts.enqueued();
    hosts.process.make(1, Some("node2"));
    assert_eq!(hosts.enqueued(), ["node2"], "by its target alone");
    hosts.process.send_to(0, "node2");
    assert_eq!(hosts.enqueued(), ["node1", "node2"], "by target and status");
    hosts.process.edit(1, &json!({ "metadata": { "annotations": { "a": "b" } } }));
    hosts.process.edit(1, &json!({ "spec": { "endTime": "2030-01-01T00:00:00Z" } }));
    assert_eq!(hosts.enqueued(), [""; 0]);
    hosts.process.world.server.delete::<Reservation>(&name(1)).unwrap();
    assert_eq!(hosts.enqueued(), ["node2"]);
    hosts.resize("node1", 3);
    assert_eq!(hosts.enqueued(), ["node1"]);
    let beat = json!({ "metadata": { "annotations": { "beat": "1" } } });
    hosts.process.world.server.edit::<Hypervisor>("node1", &beat).unwrap();
    assert_eq!(hosts.enqueued(), [""; 0]);
    let mut failover = berth_crds::testing::slot(UUID, 7);
    failover.metadata.labels = Some([(labels::TYPE.to_owned(), labels::TYPE_FAILOVER.to_owned())].into());
    failover.spec.type_ = berth_crds::ReservationType::FailoverReservation;
    failover.spec.committed_resource_reservation = None;
    failover.spec.failover_reservation = Some(berth_crds::reservation::FailoverReservationSpec::default());
    failover.spec.target_host = Some("node1".to_owned());
    hosts.process.world.server.create(&failover).unwrap();
    assert_eq!(hosts.enqueued(), ["node1"], "any type");
}

/// This many hosts with one slot each, which all shrink to nothing at the same time, and the operator has seen that.
async fn shrunk_zone(count: u64) -> Hosts {
    let names: Vec<String> = (0..count).map(node).collect();
    let free_capacities: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let slots: Vec<_> = names.iter().map(String::as_str).collect();
    let hosts = hosts(&free_capacities, &slots, SETTINGS).await;
    for name in &names {
        hosts.resize(name, 0);
    }
    for name in &names {
        assert_eq!(hosts.reconcile(name).await.unwrap(), Action::RequeueAfter(TIMEOUT));
    }
    sleep(TIMEOUT).await;
    hosts
}

fn node(number: u64) -> String {
    format!("node{number:02}")
}

impl Hosts {
    /// Another process leads from now on, and has confirmed the slots.
    async fn take_over(self) -> Self {
        let Process { world, clock, .. } = self.process;
        world.server.take_log();
        let hosts = control(Process::start(&world.server, clock), SETTINGS);
        assert_eq!(hosts.process.settle().await, []);
        hosts
    }

    async fn reconcile_all(&self, nodes: std::ops::Range<u64>) {
        for number in nodes {
            assert_eq!(self.reconcile(&node(number)).await.unwrap(), Action::RequeueAfter(INTERVAL));
        }
        assert_eq!(self.process.settle().await, []);
    }

    /// The reason and message with which a slot shows that it is held back.
    fn held_back(&self, number: u64) -> Option<(String, String)> {
        let conditions = self.process.slot(number).status.unwrap().conditions;
        let held = find(&conditions, safety::DISRUPTION_LIMITED)?;
        Some((held.reason.clone(), held.message.clone()))
    }

    fn is_in_place(&self, number: u64) -> bool {
        self.process.hosts(number) == on(&node(number))
    }
}

#[tokio::test(start_paused = true)]
async fn a_zone_whose_hosts_shrink_together_loses_no_slot_and_each_slot_shows_why() {
    let hosts = shrunk_zone(21).await;
    for _ in 0..3 {
        hosts.reconcile_all(0..21).await;
        sleep(INTERVAL).await;
    }
    for number in 0..21 {
        assert!(hosts.is_in_place(number), "slot {number} has left");
        let (reason, message) = hosts.held_back(number).unwrap();
        let count =
            "at least 21 of 21 slots of zone eu-test-1a would be moved or deleted within 10 minutes, and only 20";
        assert!(reason == safety::HOST_OVERBOOKED && message.starts_with(count), "{reason}: {message}");
    }
    assert_eq!(hosts.writes().len(), 21, "only the condition of each slot, once");
    hosts.process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_in_their_grace_period_count_and_those_that_cannot_be_checked_do_not() {
    for is_readable in [true, false] {
        let hosts = hosts(&[("node1", 1), ("node2", 21)], &["node1"], SETTINGS).await;
        (1..21).for_each(|number| hosts.process.make(number, Some("node2")));
        assert_eq!(hosts.process.settle().await, []);
        hosts.resize("node1", 0);
        hosts.reconcile("node1").await.unwrap();
        sleep(TIMEOUT).await;
        hosts.resize("node2", 0);
        if !is_readable {
            let broken = json!({
                "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
                "metadata": { "name": "broken", "uid": "u", "resourceVersion": "1" },
                "spec": { "type": "FromTheFuture", "targetHost": "node2" },
            });
            let store = &hosts.process.world.stores.reservations;
            berth_cluster::testing::applied_raw(store, &ClusterName::home(), broken).unwrap();
        }
        hosts.writes();
        hosts.reconcile("node1").await.unwrap();
        assert_eq!(hosts.writes().len(), usize::from(!is_readable), "node1 has one slot, node2 has 20: {is_readable}");
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_slots_as_the_disruption_limit_admits_leave_hosts_that_shrink_together() {
    let hosts = shrunk_zone(20).await;
    hosts.writes();
    for number in 0..20 {
        assert_eq!(hosts.reconcile(&node(number)).await.unwrap(), Action::RequeueAfter(INTERVAL));
    }
    assert_eq!(hosts.writes().len(), 20, "each slot has left");
    assert!((0..20).all(|number| hosts.process.slot(number).spec.target_host.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_takes_over_counts_hosts_that_it_has_not_reconciled() {
    let hosts = shrunk_zone(21).await.take_over().await;
    assert_eq!(hosts.reconcile(&node(0)).await.unwrap(), Action::RequeueAfter(TIMEOUT), "the grace starts again");
    sleep(TIMEOUT).await;
    hosts.reconcile_all(0..1).await;
    assert!(hosts.is_in_place(0) && hosts.held_back(0).is_some() && hosts.held_back(1).is_none());
}

#[tokio::test(start_paused = true)]
async fn what_a_former_process_has_held_back_stays_marked_until_its_host_was_decided_on() {
    let hosts = shrunk_zone(21).await;
    hosts.reconcile_all(0..21).await;
    let hosts = hosts.take_over().await;
    assert_eq!(hosts.writes(), [""; 0], "no host was decided on");
    hosts.reconcile(&node(0)).await.unwrap();
    sleep(TIMEOUT).await;
    hosts.reconcile_all(0..1).await;
    assert_eq!(hosts.writes(), [""; 0], "still held back");
    hosts.resize(&node(1), 1);
    assert_eq!(hosts.reconcile(&node(1)).await.unwrap(), Action::AwaitChange);
    assert_eq!(hosts.process.settle().await, []);
    assert!(hosts.is_in_place(1) && hosts.held_back(1).is_none(), "its host is not over-booked any more");
    sleep(INTERVAL).await;
    hosts.reconcile(&node(0)).await.unwrap();
    assert_eq!(hosts.process.slot(0).spec.target_host, None, "20 may leave");
    assert_eq!(hosts.process.settle().await, []);
    assert!(hosts.held_back(0).is_none() && hosts.held_back(2).is_some());
}
