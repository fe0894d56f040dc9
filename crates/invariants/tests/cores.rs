//! Which cores count, and which violations other clients have caused.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::conditions::Status;
use berth_crds::{CommitmentState, CommittedResource, Time};
use berth_invariants::{ExternalChanges, Invariant, Key, Snapshot, Touched, always, always_touched};
use jiff::Timestamp;

use world::{World, capacity, condition, cores};

fn home() -> ClusterName {
    ClusterName::home()
}

/// A hundred cores, of which sixty are accepted.
fn world() -> World {
    World {
        commitments: vec![(home(), cores("first-1", 60))],
        capacities: vec![(home(), capacity("capacity", 100))],
        ..World::default()
    }
}

/// Whether fifty more are too many after a change of the first commitment.
fn too_many(change: impl FnOnce(&mut CommittedResource)) -> bool {
    let mut world = world();
    change(&mut world.commitments[0].1);
    world.commitments.push((home(), cores("second-1", 50)));
    let violations = always(&world.snapshot(), &ExternalChanges::default());
    violations.iter().any(|one| one.invariant == Invariant::CoresOversold)
}

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

#[test]
fn what_counts_and_what_does_not() {
    assert!(too_many(|_| ()));
    assert!(too_many(|first| first.spec.state = CommitmentState::Pending));
    assert!(!too_many(|first| first.spec.state = CommitmentState::Planned));
    assert!(!too_many(|first| first.spec.state = CommitmentState::Superseded));
    assert!(!too_many(|first| first.metadata.deletion_timestamp = Some(at(0))));
    assert!(!too_many(|first| first.spec.end_time = Some(at(0))), "the second was accepted then");
    assert!(too_many(|first| first.spec.end_time = Some(at(1))));
    let say = |reason: &str| vec![condition(Status::False, reason, "")];
    assert!(!too_many(|first| first.status.as_mut().unwrap().conditions = say("expired")));
    assert!(too_many(|first| first.status.as_mut().unwrap().conditions = say("Rejected")), "the amount before");
    assert!(too_many(|first| first.spec.amount = "1".into()), "a desired amount is not accepted yet");
    assert!(!too_many(|first| first.status = None));
}

#[test]
fn of_two_objects_with_a_uuid_and_of_two_about_a_place_one_counts() {
    let mut world = world();
    let mut duplicate = cores("first-1", 50);
    duplicate.metadata.name = Some("another".to_owned());
    world.commitments.push((home(), duplicate));
    world.capacities.push((home(), capacity("zero", 0)));
    assert_eq!(always(&world.snapshot(), &ExternalChanges::default()), []);
    world.capacities.push((home(), capacity("before", 59)));
    let violations = always(&world.snapshot(), &ExternalChanges::default());
    assert_eq!(
        violations.iter().map(|one| (one.invariant, &*one.object.name)).collect::<Vec<_>>(),
        [(Invariant::CoresOversold, "before")]
    );
}

#[test]
fn of_two_objects_in_two_clusters_none_counts_before_one_reports_which() {
    let mut world = world();
    world.capacities[0].1 = capacity("capacity", 59);
    world.commitments.push(("far".into(), cores("first-1", 1)));
    let violations = |world: &World| always(&world.snapshot(), &ExternalChanges::default()).len();
    assert_eq!(violations(&world), 0);
    let far = world.commitments[1].1.status.as_mut().unwrap();
    far.conditions = vec![condition(Status::False, "DuplicateUUID", "")];
    assert_eq!(violations(&world), 1);
}

/// A snapshot that applies events.
struct Log {
    snapshot: Snapshot,
    outside: ExternalChanges,
}

impl Log {
    fn begin(mut outside: ExternalChanges) -> Self {
        let snapshot = world().snapshot();
        outside.learn(&snapshot, &snapshot.everything());
        Self { snapshot, outside }
    }

    fn checked(&self, touched: &Touched) -> bool {
        let violations = always(&self.snapshot, &self.outside);
        assert_eq!(always_touched(&self.snapshot, &self.outside, touched), violations);
        violations.is_empty()
    }

    fn commitment(&mut self, object: CommittedResource) -> Touched {
        let key = Key::new(home(), object.metadata.name.clone().unwrap());
        self.snapshot.commitment(&key, Some(&Arc::new(object)))
    }

    fn accepts(&mut self, uuid: &str, count: u64) -> bool {
        let touched = self.commitment(cores(uuid, count));
        self.outside.learn(&self.snapshot, &touched);
        self.checked(&touched)
    }

    fn total(&mut self, count: u64) {
        let touched =
            self.snapshot.capacity(&Key::new(home(), "capacity"), Some(&Arc::new(capacity("capacity", count))));
        self.outside.learn(&self.snapshot, &touched);
        assert!(self.checked(&touched), "an external change caused it");
    }

    fn person(&mut self, change: impl FnOnce(&mut CommittedResource)) {
        let mut object = cores("first-1", 60);
        change(&mut object);
        let touched = self.commitment(object);
        self.outside.excuse(&self.snapshot, &touched);
        assert!(self.checked(&touched), "an external change caused it");
    }
}

#[test]
fn a_total_that_shrinks_is_excused_and_one_core_more_is_not() {
    let mut log = Log::begin(ExternalChanges::default());
    log.total(50);
    assert!(!log.accepts("second-1", 1));
}

#[test]
fn cores_that_became_free_again_may_not_be_sold_twice() {
    let mut log = Log::begin(ExternalChanges::default());
    log.total(50);
    assert!(log.accepts("first-1", 50));
    assert!(!log.accepts("first-1", 60));
}

#[test]
fn an_operator_that_learns_late_may_sell_once_what_is_gone() {
    let mut log = Log::begin(ExternalChanges::late());
    log.total(50);
    assert!(log.accepts("second-1", 40), "of the earlier hundred");
    assert!(!log.accepts("third-1", 1));
    let mut log = Log::begin(ExternalChanges::late());
    log.total(50);
    log.outside.heard();
    assert!(!log.accepts("second-1", 1));
}

#[test]
fn what_a_person_brings_back_is_not_held_against_us() {
    for outside in [ExternalChanges::default(), ExternalChanges::late()] {
        let mut log = Log::begin(outside);
        log.person(|first| first.spec.state = CommitmentState::Planned);
        assert!(log.accepts("second-1", 90));
        log.person(|_| ());
        assert!(!log.accepts("third-1", 11));
    }
}

#[test]
fn who_sees_objects_only_now_and_then_knows_who_came_back_without_being_accepted() {
    let mut log = Log::begin(ExternalChanges::default());
    let mut planned = cores("first-1", 60);
    planned.spec.state = CommitmentState::Planned;
    let touched = log.commitment(planned);
    log.outside.learn(&log.snapshot, &touched);
    assert!(log.accepts("second-1", 90));
    assert!(log.accepts("first-1", 60), "the same acceptance as before");
    assert!(!log.accepts("first-1", 61));
}

#[test]
fn an_object_that_goes_and_comes_back_smaller_is_a_total_that_shrinks() {
    for outside in [ExternalChanges::default(), ExternalChanges::late()] {
        let mut log = Log::begin(outside);
        let touched = log.snapshot.capacity(&Key::new(home(), "capacity"), None);
        log.outside.learn(&log.snapshot, &touched);
        log.total(50);
    }
}
