//! More slots of a zone are disturbed than allowed: reported when no user asked for it, and not otherwise.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::conditions::Status;
use berth_crds::{CommitmentState, CommittedResource, Reservation, Time, labels};
use berth_invariants::testing::{Disturbances, Moment, confirms};
use berth_invariants::{Invariant, Key, Snapshot};
use jiff::{SignedDuration, Timestamp};

use world::{commitment, condition, slot};

const UUID: &str = "disrupted";

fn start() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn moment(seconds: u64) -> Moment {
    let elapsed = Duration::from_secs(seconds);
    Moment { elapsed, wall: start() + SignedDuration::try_from(elapsed).unwrap() }
}

fn key(name: &str) -> Key {
    Key::new(ClusterName::home(), name)
}

/// A commitment with this many slots, and the counter of disturbances.
struct Zone {
    snapshot: Snapshot,
    counted: Disturbances,
    now: u64,
    confirmed: bool,
}

impl Zone {
    fn of(slots: u64, limit: Option<usize>) -> Self {
        let commitments = [(ClusterName::home(), Arc::new(commitment(UUID, slots)))];
        let all = (0..slots).map(|number| (ClusterName::home(), Arc::new(slot(UUID, number, "node1"))));
        let snapshot = Snapshot::of(commitments, all, []);
        let mut counted = Disturbances::new(limit);
        counted.learn(&snapshot, &snapshot.everything(), moment(0));
        Self { snapshot, counted, now: 100, confirmed: false }
    }

    fn others_change(&mut self, edit: impl FnOnce(&mut CommittedResource)) {
        let mut object = commitment(UUID, 2);
        edit(&mut object);
        let touched = self.snapshot.commitment(&key("commitment-disrupted"), Some(&Arc::new(object)));
        self.counted.learn(&self.snapshot, &touched, moment(self.now));
    }

    /// The slots lose their host, or are deleted.
    fn disturb(&mut self, numbers: std::ops::Range<u64>, delete: bool) -> usize {
        let mut found = Vec::new();
        for number in numbers {
            let mut object: Reservation = slot(UUID, number, "node1");
            object.spec.target_host = None;
            let name = key(object.metadata.name.as_deref().unwrap());
            let touched = self.snapshot.reservation(&name, Some(&Arc::new(object)).filter(|_| !delete));
            found.extend(self.counted.check(&self.snapshot, &touched, moment(self.now), self.confirmed));
        }
        assert!(found.iter().all(|one| one.invariant == Invariant::DisturbedTooMany), "{found:?}");
        found.len()
    }

    fn give_back(&mut self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let object = slot(UUID, number, "node2");
            let name = key(object.metadata.name.as_deref().unwrap());
            let touched = self.snapshot.reservation(&name, Some(&Arc::new(object)));
            assert_eq!(self.counted.check(&self.snapshot, &touched, moment(self.now), false), []);
        }
    }
}

#[test]
fn twenty_slots_may_lose_their_host_within_ten_minutes_and_not_one_more() {
    let mut zone = Zone::of(100, None);
    assert_eq!(zone.disturb(0..20, false), 0);
    zone.now += 530;
    assert_eq!(zone.disturb(20..21, false), 1);
    zone.now += 600;
    assert_eq!(zone.disturb(30..50, false), 0, "the window has passed");
}

#[test]
fn of_a_large_zone_it_is_a_twentieth_of_what_it_had_at_the_first_request() {
    let mut zone = Zone::of(1000, None);
    assert_eq!(zone.disturb(0..50, true), 0);
    assert_eq!(zone.disturb(50..51, true), 1);
}

#[test]
fn the_configuration_may_say_how_many() {
    let mut zone = Zone::of(100, Some(3));
    assert_eq!(zone.disturb(0..3, false), 0);
    assert_eq!(zone.disturb(3..5, false), 2, "each disturbance beyond the limit");
    assert_eq!(Zone::of(100, Some(0)).disturb(0..1, false), 1);
}

#[test]
fn a_slot_counts_once_and_a_new_host_does_not() {
    let mut zone = Zone::of(100, Some(3));
    for _ in 0..5 {
        assert_eq!(zone.disturb(0..3, false), 0);
        zone.give_back(0..3);
    }
    assert_eq!(zone.disturb(0..3, true), 0, "now they are deleted");
}

#[test]
fn what_has_no_host_or_goes_already_does_not_count() {
    let mut zone = Zone::of(10, Some(0));
    zone.confirmed = true;
    assert_eq!(zone.disturb(0..5, false), 0, "a user has confirmed");
    zone.confirmed = false;
    assert_eq!(zone.disturb(0..5, true), 0, "they had lost the host before");
}

#[test]
fn who_begins_anew_may_as_much_again_and_zones_do_not_share() {
    let mut zone = Zone::of(100, None);
    assert_eq!(zone.disturb(0..20, false), 0);
    zone.counted.begins();
    assert_eq!(zone.disturb(20..40, false), 0);
    assert_eq!(zone.disturb(40..41, false), 1);
    let mut other = slot(UUID, 60, "node1");
    other.spec.availability_zone = Some("another".to_owned());
    let name = key(other.metadata.name.as_deref().unwrap());
    let touched = zone.snapshot.reservation(&name, Some(&Arc::new(other)));
    zone.counted.learn(&zone.snapshot, &touched, moment(zone.now));
    let touched = zone.snapshot.reservation(&name, None);
    zone.now += 61;
    assert_eq!(zone.counted.check(&zone.snapshot, &touched, moment(zone.now), false), []);
}

/// All ten slots are deleted while none may be disturbed, long after this edit of the commitment.
fn deleted_after(edit: impl FnOnce(&mut CommittedResource)) -> usize {
    let mut zone = Zone::of(10, Some(0));
    zone.others_change(edit);
    zone.now += 300;
    zone.disturb(0..10, true)
}

fn report(object: &mut CommittedResource, reason: &str) {
    object.status.as_mut().unwrap().conditions = vec![condition(Status::False, reason, "")];
}

#[test]
fn what_the_commitment_asks_for_does_not_count() {
    let slots = |count: u64| format!("{}Gi", count * 480);
    assert_eq!(deleted_after(|object| object.spec.amount = slots(10).into()), 10, "the commitment wants them all");
    assert_eq!(deleted_after(|object| object.spec.amount = slots(7).into()), 7, "three were too many");
    let gone: [fn(&mut CommittedResource); 9] = [
        |object| object.metadata.deletion_timestamp = Some(Time(start())),
        |object| object.spec.state = CommitmentState::Planned,
        |object| object.spec.state = CommitmentState::Superseded,
        |object| object.spec.state = CommitmentState::Expired,
        |object| object.spec.end_time = Some(Time(start())),
        |object| report(object, "expired"),
        |object| object.spec.project_id = "another".to_owned(),
        |object| object.spec.flavor_group_name = "another".to_owned(),
        |object| object.spec.availability_zone = "another".to_owned(),
    ];
    for (number, edit) in gone.into_iter().enumerate() {
        let edit = |object: &mut CommittedResource| {
            object.spec.amount = slots(10).into();
            edit(object);
        };
        assert_eq!(deleted_after(edit), 0, "{number}");
    }
}

#[test]
fn what_was_refused_goes_back_to_what_was_accepted() {
    let refused = |accepted: Option<u64>| {
        deleted_after(|object| {
            report(object, "Rejected");
            let spec = accepted.map(|count| commitment(UUID, count).spec);
            object.status.as_mut().unwrap().accepted_spec = spec;
            object.spec.amount = "4800Gi".into();
        })
    };
    assert_eq!(refused(None), 0);
    assert_eq!(refused(Some(2)), 2);
}

#[test]
fn orphans_count_and_what_was_wished_a_moment_ago_does_not() {
    let mut zone = Zone::of(4, Some(0));
    let touched = zone.snapshot.commitment(&key("commitment-disrupted"), None);
    zone.counted.learn(&zone.snapshot, &touched, moment(zone.now));
    zone.now += 59;
    assert_eq!(zone.disturb(0..2, true), 0, "a reconciliation may still use the old spec");
    zone.now += 1;
    assert_eq!(zone.disturb(2..4, true), 2);
}

#[test]
fn a_confirmation_is_a_time_at_most_a_day_ahead() {
    assert!(confirms("2026-03-01T12:00:01Z", start()) && confirms(" 2026-03-02T12:00:00Z", start()));
    let refused = ["", "yes", "2026-03-01T12:00:00Z", "2026-03-02T12:00:01Z", labels::CONFIRM_DISRUPTION];
    assert!(refused.into_iter().all(|value| !confirms(value, start())));
}
