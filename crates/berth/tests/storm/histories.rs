//! The checker over histories of broken operators. In the storm itself such a fault may be repaired in time, or not
//! happen; here it is certain, and so is its duration.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommittedResource, Hypervisor, Reservation, labels, testing};
use kube::ResourceExt as _;
use tokio::time::advance;

use crate::checker::{Checker, ONE_RECONCILIATION};
use crate::commits::{Entry, Kind, Object};
use crate::support::objects::{OTHER_ZONE, host, in_zone, non_rejectable};

const SECOND: Duration = Duration::from_secs(1);
const ALMOST_ONE_RECONCILIATION: Duration = ONE_RECONCILIATION.saturating_sub(SECOND);

/// A checker and its entries.
struct History {
    checker: Checker,
    revision: u64,
}

impl History {
    /// A host with free capacity for one slot in each of two zones, and a commitment with its slot on the first host.
    fn sound() -> Self {
        let mut history = Self { checker: Checker::new(ONE_RECONCILIATION), revision: 0 };
        history.checker.calm();
        history.host(host("node1", 1));
        history.host(in_zone(host("node2", 1), OTHER_ZONE));
        history.commitment(desired());
        history.slot(slot(0, "node1"));
        history
    }

    fn host(&mut self, host: Hypervisor) {
        self.tell(Kind::Host, host.name_any(), Some(Object::Host(Arc::new(host))));
    }

    fn commitment(&mut self, commitment: CommittedResource) {
        self.tell(Kind::Commitment, commitment.name_any(), Some(Object::Commitment(Arc::new(commitment))));
    }

    fn slot(&mut self, slot: Reservation) {
        self.tell(Kind::Reservation, slot.name_any(), Some(Object::Reservation(Arc::new(slot))));
    }

    fn no_slot(&mut self, slot: &Reservation) {
        self.tell(Kind::Reservation, slot.name_any(), None);
    }

    fn tell(&mut self, kind: Kind, name: String, object: Option<Object>) {
        self.revision += 1;
        self.checker.committed(Entry { revision: self.revision, kind, name, object });
    }

    async fn wrong_after(&self, time: Duration) -> BTreeSet<String> {
        advance(time).await;
        self.checker.record().wrong
    }
}

fn desired() -> CommittedResource {
    let mut desired = non_rejectable("uuid-1", 1);
    desired.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
    desired
}

fn slot(number: u64, host: &str) -> Reservation {
    let mut slot = testing::slot("uuid-1", number);
    slot.spec.target_host = Some(host.to_owned());
    slot
}

#[tokio::test(start_paused = true)]
async fn in_a_sound_history_nothing_is_wrong() {
    let history = History::sound();
    assert_eq!(history.wrong_after(60 * SECOND).await, BTreeSet::new());
    assert_eq!(history.checker.record().placements, 1);
}

/// A fault of a broken operator, with the invariant that finds it.
type Fault = (&'static str, fn(&mut History));

const FAULTS: [Fault; 4] = [
    // As with the mutants "assume entry dropped" and "status.host not blocked".
    ("host_overbooked", |history| history.slot(slot(1, "node1"))),
    // "zone ignored"
    ("slot_in_wrong_zone", |history| history.slot(slot(0, "node2"))),
    // "finalizer removed early"
    ("finalizer_missing", |history| history.commitment(non_rejectable("uuid-1", 1))),
    ("slot_orphaned", |history| history.tell(Kind::Commitment, desired().name_any(), None)),
];

#[tokio::test(start_paused = true)]
async fn a_fault_that_lasts_longer_than_a_reconciliation_is_wrong() {
    for (invariant, happens) in FAULTS {
        let mut history = History::sound();
        happens(&mut history);
        assert_eq!(
            history.wrong_after(ONE_RECONCILIATION).await,
            BTreeSet::new(),
            "{invariant}: reported while it may still be repaired"
        );
        let wrong = history.wrong_after(SECOND).await;
        assert!(wrong.len() == 1 && wrong.first().unwrap().contains(invariant), "{invariant}: {wrong:?}");
    }
}

/// The mutant "reject on 500": there is always free capacity for commitments that allow rejection.
#[tokio::test(start_paused = true)]
async fn a_rejection_is_wrong_at_once() {
    let mut history = History::sound();
    let mut rejected = desired();
    let reported =
        ready_condition(Status::False, "Rejected", "no host", Some(1), "2026-03-01T12:00:00Z".parse().unwrap());
    rejected.status.get_or_insert_default().conditions.push(reported);
    history.commitment(rejected);
    let wrong = history.wrong_after(Duration::ZERO).await;
    assert!(wrong.len() == 1 && wrong.first().unwrap().contains("was rejected"), "{wrong:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_repaired_in_time_is_counted_and_not_wrong() {
    let mut history = History::sound();
    history.slot(slot(1, "node1"));
    advance(ALMOST_ONE_RECONCILIATION).await;
    history.no_slot(&slot(1, "node1"));
    assert_eq!(history.wrong_after(60 * SECOND).await, BTreeSet::new());
    let record = history.checker.record();
    assert_eq!((record.over_booked, record.longest), (1, ALMOST_ONE_RECONCILIATION));
}

#[tokio::test(start_paused = true)]
async fn an_outage_does_not_count_towards_the_time_for_repairs() {
    let mut history = History::sound();
    history.checker.disturbed();
    history.slot(slot(1, "node1"));
    assert_eq!(history.wrong_after(60 * SECOND).await, BTreeSet::new());
    history.checker.calm();
    assert_eq!(history.wrong_after(ONE_RECONCILIATION).await, BTreeSet::new());
    assert_eq!(history.wrong_after(SECOND).await.len(), 1);
}
