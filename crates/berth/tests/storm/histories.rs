//! The judge over histories as broken operators leave them. In the storm itself such a fault may be repaired in time, or not
//! happen; here it is certain, and so is how long it lasts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{CommittedResource, Hypervisor, Reservation, labels, testing};
use kube::ResourceExt as _;
use tokio::time::advance;

use crate::chronicle::{Entry, Kind, Object};
use crate::judge::{Judge, ONE_LOOK};
use crate::support::objects::{OTHER_ZONE, host, in_zone, patient};

const SECOND: Duration = Duration::from_secs(1);
const ALMOST_ONE_LOOK: Duration = ONE_LOOK.saturating_sub(SECOND);

/// A judge and what it was told.
struct History {
    judge: Judge,
    revision: u64,
}

impl History {
    /// A host with room for one slot in each of two zones, and a commitment with its slot on the first of them.
    fn sound() -> Self {
        let mut history = Self { judge: Judge::new(ONE_LOOK), revision: 0 };
        history.judge.calm();
        history.host(host("node1", 1));
        history.host(in_zone(host("node2", 1), OTHER_ZONE));
        history.commitment(wish());
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
        self.judge.committed(Entry { revision: self.revision, kind, name, object });
    }

    /// What is wrong after so much time.
    async fn wrong_after(&self, time: Duration) -> BTreeSet<String> {
        advance(time).await;
        self.judge.record().wrong
    }
}

/// A commitment that protects its slots.
fn wish() -> CommittedResource {
    let mut wish = patient("uuid-1", 1);
    wish.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
    wish
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
    assert_eq!(history.judge.record().placements, 1);
}

/// What a broken operator has done, and by which law it is found.
type Fault = (&'static str, fn(&mut History));

const FAULTS: [Fault; 4] = [
    // As with the mutants "assume entry dropped" and "status.host not blocked".
    ("host_overbooked", |history| history.slot(slot(1, "node1"))),
    // "zone ignored"
    ("slot_in_wrong_zone", |history| history.slot(slot(0, "node2"))),
    // "finalizer removed early"
    ("finalizer_missing", |history| history.commitment(patient("uuid-1", 1))),
    ("slot_orphaned", |history| history.tell(Kind::Commitment, wish().name_any(), None)),
];

#[tokio::test(start_paused = true)]
async fn a_fault_that_lasts_longer_than_a_look_is_wrong() {
    for (law, happens) in FAULTS {
        let mut history = History::sound();
        happens(&mut history);
        assert_eq!(history.wrong_after(ONE_LOOK).await, BTreeSet::new(), "{law}: it may still be repaired");
        let wrong = history.wrong_after(SECOND).await;
        assert!(wrong.len() == 1 && wrong.first().unwrap().contains(law), "{law}: {wrong:?}");
    }
}

/// "reject on 500": there is always room for whoever may be rejected.
#[tokio::test(start_paused = true)]
async fn a_rejection_is_wrong_at_once() {
    let mut history = History::sound();
    let mut rejected = wish();
    let said = ready_condition(Status::False, "Rejected", "no host", Some(1), "2026-03-01T12:00:00Z".parse().unwrap());
    rejected.status.get_or_insert_default().conditions.push(said);
    history.commitment(rejected);
    let wrong = history.wrong_after(Duration::ZERO).await;
    assert!(wrong.len() == 1 && wrong.first().unwrap().contains("was rejected"), "{wrong:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_repaired_in_time_is_counted_and_not_wrong() {
    let mut history = History::sound();
    history.slot(slot(1, "node1"));
    advance(ALMOST_ONE_LOOK).await;
    history.no_slot(&slot(1, "node1"));
    assert_eq!(history.wrong_after(60 * SECOND).await, BTreeSet::new());
    let record = history.judge.record();
    assert_eq!((record.over_booked, record.longest), (1, ALMOST_ONE_LOOK));
}

#[tokio::test(start_paused = true)]
async fn nobody_has_to_repair_what_happened_while_somebody_was_missing_before_everybody_is_back() {
    let mut history = History::sound();
    history.judge.disturbed();
    history.slot(slot(1, "node1"));
    assert_eq!(history.wrong_after(60 * SECOND).await, BTreeSet::new());
    history.judge.calm();
    assert_eq!(history.wrong_after(ONE_LOOK).await, BTreeSet::new());
    assert_eq!(history.wrong_after(SECOND).await.len(), 1);
}
