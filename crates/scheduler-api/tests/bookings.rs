//! VMs that are written into slots, on a double of an API server with faults.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use std::sync::Arc;

use berth_cluster::{Fence, Store, Writer};
use berth_core::testing::gib;
use berth_core::{Cores, Resources, SlotKey};
use berth_crds::Reservation;
use berth_crds::testing::slot;
use berth_scheduler::Booking;
use berth_scheduler_api::tracking::{BookingMetrics, BookingParts, Bookings};
use berth_testkit::{Fault, Verb, path_of};
use kube::ResourceExt;
use parking_lot::Mutex;
use serde_json::json;

use support::{Scene, until};

const VM: &str = "11111111-2222-3333-4444-555555555555";

struct Process {
    scene: Scene,
    bookings: Bookings,
    given_back: Arc<Mutex<Vec<String>>>,
}

/// Slots 1 and 2, tracked.
async fn begin() -> Process {
    let scene = Scene::new();
    for number in 1..=2 {
        scene.server.create(&slot("uuid-1", number)).unwrap();
    }
    let reservations = Store::new(&[]);
    scene.synced(&reservations).await;
    let given_back: Arc<Mutex<Vec<String>>> = Arc::default();
    let back = given_back.clone();
    let parts = BookingParts {
        reservations: Writer::new(reservations, scene.cluster.clone()).fenced(Fence::open()),
        give_back: Arc::new(move |vm| back.lock().push(vm.to_string())),
        clock: scene.clock.clone(),
        metrics: BookingMetrics::register(&scene.metrics).unwrap(),
    };
    let (bookings, work) = Bookings::new(parts, scene.stop.clone());
    tokio::spawn(work);
    scene.server.take_log();
    Process { scene, bookings, given_back }
}

fn name(number: u64) -> String {
    slot("uuid-1", number).name_any()
}

fn key(number: u64) -> SlotKey {
    SlotKey::new("home".into(), name(number).as_str())
}

fn booking(vm: &str, number: u64, leaves: &[u64]) -> Booking {
    let size = Resources::new(gib(16), Cores::new(4));
    Booking { vm: vm.into(), size, slot: key(number), leaves: leaves.iter().map(|number| key(*number)).collect() }
}

impl Process {
    fn vms(&self, number: u64) -> Vec<String> {
        let slot: Reservation = self.scene.server.get(&name(number)).unwrap();
        let data = slot.spec.committed_resource_reservation.unwrap_or_default();
        data.allocations.keys().cloned().collect()
    }

    fn fail(&self, nth: usize, fault: Fault) {
        self.scene.server.fail(Verb::Patch, &path_of::<Reservation>(&name(1)), nth, fault);
    }

    async fn counts(&self, outcome: &str) {
        self.scene.counts(&format!("berth_bookings_total{{outcome=\"{outcome}\"}} 1")).await;
    }

    fn given_back(&self) -> Vec<String> {
        self.given_back.lock().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn the_vm_is_added_with_its_size_and_the_time() {
    let process = begin().await;
    process.bookings.take(&booking(VM, 1, &[]));
    process.counts("written").await;
    let log = process.scene.server.log();
    let allocation =
        json!({ "creationTimestamp": "2026-03-01T12:00:00Z", "resources": { "memory": "16Gi", "cpu": "4" } });
    let sent = &log.last().unwrap().body["spec"];
    assert_eq!(*sent, json!({ "committedResourceReservation": { "allocations": { VM: allocation } } }));
    process.bookings.take(&booking(VM, 1, &[]));
    process.counts("there_already").await;
    assert_eq!((process.vms(1), process.given_back()), (vec![VM.to_owned()], Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn the_vm_leaves_the_slot_of_its_first_delivery() {
    let process = begin().await;
    process.bookings.take(&booking(VM, 2, &[]));
    process.counts("written").await;
    process.bookings.take(&booking(VM, 1, &[2]));
    process.scene.counts("berth_booking_removals_total{outcome=\"written\"} 1").await;
    assert_eq!((process.vms(1), process.vms(2)), (vec![VM.to_owned()], Vec::<String>::new()));
    let writes = process.scene.server.take_log();
    let writes: Vec<_> = writes[1..].iter().map(String::as_str).collect();
    let expected = [1, 2].map(|number| format!("patch reservations/{}", name(number)));
    assert_eq!(writes, expected, "the VM is entered before it is removed");
}

#[tokio::test(start_paused = true)]
async fn what_others_write_meanwhile_is_kept() {
    let process = begin().await;
    let other = json!({ "creationTimestamp": "2026-03-01T12:00:00Z", "resources": {} });
    let patch = json!({ "spec": { "committedResourceReservation": { "allocations": { "other": other } } } });
    process.scene.server.before(Verb::Patch, &path_of::<Reservation>(&name(1)), 1, move |server| {
        server.edit::<Reservation>(&name(1), &patch).unwrap();
    });
    process.bookings.take(&booking(VM, 1, &[]));
    process.bookings.take(&booking("third", 1, &[]));
    until("both are there", || async { process.vms(1).len() == 3 }).await;
    assert!(process.given_back().is_empty());
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_tried_again_whatever_became_of_the_write() {
    for fault in [Fault::Conflict, Fault::Unavailable, Fault::CutBefore, Fault::LoseAnswer, Fault::Hang] {
        let process = begin().await;
        process.fail(1, fault);
        process.bookings.take(&booking(VM, 1, &[]));
        until("it is there", || async { process.vms(1) == [VM] }).await;
        let counted = || async { process.scene.metrics.render().contains("berth_bookings_total{") };
        until("it is counted", counted).await;
        assert!(process.given_back().is_empty(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_or_never_answered_is_given_back() {
    let process = begin().await;
    process.scene.server.fail_always(Verb::Patch, &path_of::<Reservation>(&name(1)), Fault::Forbidden);
    process.bookings.take(&booking(VM, 1, &[2]));
    process.counts("failed").await;
    process.scene.server.go_away();
    process.bookings.take(&booking("late", 1, &[]));
    process.scene.counts("berth_bookings_total{outcome=\"failed\"} 2").await;
    assert_eq!(process.given_back(), [VM, "late"]);
    process.scene.server.come_back();
    assert!(process.vms(1).is_empty());
}

#[tokio::test(start_paused = true)]
async fn slot_that_is_none_any_more_is_left_alone() {
    let process = begin().await;
    process.scene.server.before(Verb::Patch, &path_of::<Reservation>(&name(1)), 1, |server| {
        server.delete::<Reservation>(&name(1)).unwrap();
    });
    process.bookings.take(&booking(VM, 1, &[]));
    process.counts("slot_gone").await;
    process.bookings.take(&booking("other", 7, &[]));
    process.scene.counts("berth_bookings_total{outcome=\"slot_gone\"} 2").await;
    process.scene.server.before(Verb::Patch, &path_of::<Reservation>(&name(2)), 1, |server| {
        let none = json!({ "spec": { "committedResourceReservation": null } });
        server.edit_raw(&path_of::<Reservation>(""), &name(2), &none).unwrap();
    });
    process.bookings.take(&booking("third", 2, &[]));
    process.scene.counts("berth_bookings_total{outcome=\"slot_gone\"} 3").await;
    assert_eq!(
        (process.given_back(), process.vms(2)),
        (vec![VM.to_owned(), "other".to_owned(), "third".to_owned()], vec![])
    );
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_gives_back_at_once() {
    let process = begin().await;
    process.scene.server.fail_always(Verb::Patch, &path_of::<Reservation>(&name(1)), Fault::Hang);
    for number in 0..1100 {
        process.bookings.take(&booking(&format!("vm-{number}"), 1, &[]));
    }
    assert!(process.given_back().len() >= 1100 - 1024 - 8, "{}", process.given_back().len());
    assert!(process.scene.metrics.render().contains("berth_bookings_total{outcome=\"queue_full\"}"));
}
