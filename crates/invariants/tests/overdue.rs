//! Temporary violations are reported when they last, and not while the operator could not know of them or act.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::conditions::{Status, condition, safety};
use berth_crds::{CommittedResource, Hypervisor, Reservation, Time, labels, testing};
use berth_invariants::{Invariant, Key, Overdue, PausedScope, Snapshot, Touched};
use jiff::Timestamp;

use world::{UUID, commitment, host, slot, sound};

const LIMIT: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn key(name: &str) -> Key {
    Key::new(ClusterName::home(), name)
}

/// A world without violations, and the tracker of one invariant over it.
struct Watch {
    snapshot: Snapshot,
    overdue: Overdue,
}

impl Watch {
    fn begin(overdue: Overdue) -> Self {
        let mut watch = Self { snapshot: sound().snapshot(), overdue };
        watch.overdue.learn(&watch.snapshot, &watch.snapshot.everything(), at(0));
        watch
    }

    fn over_hosts() -> Self {
        Self::begin(Overdue::on_gone_hosts(LIMIT, PausedScope::default()))
    }

    fn over_orphans() -> Self {
        Self::begin(Overdue::without_commitment(LIMIT, PausedScope::default()))
    }

    fn learn(&mut self, touched: &Touched, now: u64) {
        self.overdue.learn(&self.snapshot, touched, at(now));
    }

    fn host(&mut self, name: &str, object: Option<Hypervisor>, now: u64) {
        let touched = self.snapshot.hypervisor(&key(name), object.map(Arc::new).as_ref());
        self.learn(&touched, now);
    }

    fn slot(&mut self, object: Reservation, now: u64) {
        let touched =
            self.snapshot.reservation(&key(object.metadata.name.as_deref().unwrap()), Some(&Arc::new(object)));
        self.learn(&touched, now);
    }

    fn commitment(&mut self, object: Option<CommittedResource>, now: u64) {
        let name = berth_crds::names::commitment(UUID);
        let touched = self.snapshot.commitment(&key(&name), object.map(Arc::new).as_ref());
        self.learn(&touched, now);
    }

    fn violations(&self, now: u64) -> Vec<String> {
        self.overdue.violations(at(now)).into_iter().map(|violation| violation.to_string()).collect()
    }

    fn count(&self, now: u64) -> usize {
        self.violations(now).len()
    }
}

fn held_back(mut slot: Reservation) -> Reservation {
    let report =
        condition(safety::DISRUPTION_LIMITED, Status::True, safety::HOST_MISSING, "", Some(1), Timestamp::UNIX_EPOCH);
    slot.status.get_or_insert_default().conditions.push(report);
    slot
}

#[test]
fn a_slot_may_stay_on_a_host_that_has_gone_for_its_grace_and_no_longer() {
    let mut watch = Watch::over_hosts();
    assert_eq!(watch.count(10_000), 0);
    watch.host("node1", None, 100);
    assert_eq!(watch.count(160), 0);
    let reported =
        "home/commitment-well-kept-0: its host node1 does not exist, for longer than 60s (slot_on_gone_host)";
    assert_eq!(watch.violations(161)[0], reported);
    assert_eq!(watch.count(161), 2, "both of its slots");
    let mut left = slot(UUID, 0, "node1");
    left.spec.target_host = None;
    watch.slot(left, 162);
    assert_eq!(watch.count(163), 1);
    watch.host("node1", Some(host("node1", 2)), 164);
    assert_eq!(watch.count(10_000), 0);
    watch.host("node1", None, 200);
    assert_eq!(watch.count(260), 0, "the difference is gone again");
}

#[test]
fn each_host_that_a_slot_names_counts_by_itself() {
    let mut watch = Watch::over_hosts();
    watch.host("node1", None, 0);
    watch.slot(slot(UUID, 0, "node2"), 50);
    assert_eq!(watch.count(100), 1, "the other invariant");
    assert_eq!(watch.count(111), 2);
}

#[test]
fn a_slot_that_goes_or_that_is_nobodys_to_move_does_not_count() {
    let mut watch = Watch::over_hosts();
    watch.host("node1", None, 0);
    let mut going = slot(UUID, 0, "node1");
    going.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    watch.slot(going, 1);
    let mut nameless = slot(UUID, 1, "node1");
    nameless.spec.committed_resource_reservation.as_mut().unwrap().resource_name = None;
    watch.slot(nameless, 1);
    assert_eq!(watch.count(10_000), 0);
}

#[test]
fn what_could_not_be_observed_starts_again() {
    let mut watch = Watch::over_hosts();
    watch.host("node1", None, 0);
    watch.overdue.interrupted(at(50));
    assert_eq!(watch.count(110), 0);
    assert_eq!(watch.count(111), 2);
}

#[test]
fn what_the_disruption_limit_holds_back_begins_anew_when_it_is_released() {
    let mut watch = Watch::over_hosts();
    watch.host("node1", None, 0);
    watch.slot(held_back(slot(UUID, 0, "node1")), 10);
    assert_eq!(watch.count(1000), 1, "the other invariant");
    watch.slot(slot(UUID, 0, "node1"), 1000);
    assert_eq!(watch.count(1060), 1);
    assert_eq!(watch.count(1061), 2);
}

#[test]
fn what_is_paused_begins_anew_when_it_is_set_free() {
    let mut watch = Watch::over_hosts();
    watch.host("node1", None, 0);
    let mut paused = commitment(UUID, 2);
    paused.metadata.annotations = Some([(labels::PAUSED.to_owned(), String::new())].into());
    watch.commitment(Some(paused), 10);
    assert_eq!(watch.count(1000), 0);
    watch.commitment(Some(commitment(UUID, 2)), 1000);
    assert_eq!(watch.count(1060), 0);
    assert_eq!(watch.count(1061), 2);
}

#[test]
fn what_the_configuration_pauses_does_not_count() {
    let paused = |zone: &str, group: &str| {
        let names = |name: &str| [name.to_owned()].into();
        let mut watch = Watch::begin(Overdue::on_gone_hosts(
            LIMIT,
            PausedScope { zones: names(zone), flavor_groups: names(group) },
        ));
        watch.host("node1", None, 0);
        watch.count(1000)
    };
    assert_eq!(paused("another", "one"), 2);
    assert_eq!(paused(testing::ZONE, "one"), 0);
    assert_eq!(paused("another", testing::GROUP), 0);
}

#[test]
fn a_slot_of_ours_may_stay_without_its_commitment_for_the_grace_and_no_longer() {
    let mut watch = Watch::over_orphans();
    watch.commitment(None, 100);
    assert_eq!(watch.count(160), 0);
    assert!(watch.violations(161)[0].contains("none has the UUID \"well-kept\""), "{:?}", watch.violations(161));
    assert_eq!(watch.count(161), 2);
    let mut theirs = slot(UUID, 0, "node1");
    theirs.metadata.annotations = None;
    watch.slot(theirs, 162);
    watch.slot(held_back(slot(UUID, 1, "node1")), 162);
    assert_eq!(watch.count(10_000), 0, "old data stays, and so do held-back slots");
    watch.slot(slot(UUID, 1, "node1"), 10_000);
    watch.commitment(Some(commitment(UUID, 2)), 10_010);
    assert_eq!(watch.count(20_000), 0);
}

#[test]
fn each_of_the_two_watches_over_its_own_invariant() {
    let (mut hosts, mut orphans) = (Watch::over_hosts(), Watch::over_orphans());
    for watch in [&mut hosts, &mut orphans] {
        watch.host("node1", None, 0);
        watch.commitment(None, 0);
    }
    let invariants =
        |watch: &Watch| watch.overdue.violations(at(61)).into_iter().map(|one| one.invariant).collect::<Vec<_>>();
    assert_eq!(invariants(&hosts), [Invariant::SlotOnGoneHost; 2]);
    assert_eq!(invariants(&orphans), [Invariant::OrphanStays; 2]);
}
