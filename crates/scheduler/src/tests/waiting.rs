//! Sequences of the waiting list.

use super::*;
use crate::{Pin, Placed, Placement, Scheduler};

fn size() -> Resources {
    gib(4, 32)
}

/// A full cloud of one host with one slot of `old`, and these slots waiting in the order of their arrival.
fn full(waiting: &[&SlotRequest]) -> (Watched, SlotRequest) {
    let scheduler = built_in(&[host("h", size())]);
    let old = wanted("old", 0, 0, size());
    let _ = scheduler.reservation_changed(&old.key, Some(placed(&old, "h")));
    for slot in waiting {
        let _ = scheduler.reservation_changed(&slot.key, Some(unplaced(slot)));
        assert!(matches!(now(scheduler.place(slot)), Ok(Placed::Nowhere(_))));
    }
    (scheduler, old)
}

#[test]
fn released_capacity_goes_to_the_oldest_commitment() {
    let (young, aged) = (wanted("a", 2, 0, size()), wanted("b", 1, 0, size()));
    let (scheduler, old) = full(&[&young, &aged]);
    assert_eq!(
        scheduler.waiting_slots().iter().map(|(slot, _)| &slot.key).collect::<Vec<_>>(),
        [&aged.key, &young.key]
    );
    assert_eq!(scheduler.reservation_changed(&old.key, None), [aged.key.clone()]);
    assert_eq!((scheduler.assumed(), scheduler.waiting(&aged.key)), (1, None));
    assert_eq!(scheduler.waiting(&young.key).unwrap().to_string(), "1 host; capacity 1");
    assert!(matches!(now(scheduler.place(&young)), Ok(Placed::Nowhere(_))), "the capacity is kept");
    assert_eq!(now(scheduler.place(&aged)), Ok(Placed::Host("h".into())));
    assert_eq!(scheduler.reservation_changed(&aged.key, Some(placed(&aged, "h"))), []);
    assert_eq!(scheduler.assumed(), 0);
}

#[test]
fn commitments_of_the_same_age_are_ordered_by_uuid_and_their_slots_by_number() {
    let slots = [wanted("b", 1, 0, size()), wanted("a", 1, 10, size()), wanted("a", 1, 9, size())];
    let (scheduler, _) = full(&slots.iter().collect::<Vec<_>>());
    let order: Vec<String> = scheduler.waiting_slots().iter().map(|(slot, _)| slot.key.name.to_string()).collect();
    assert_eq!(order, ["a-9", "a-10", "b-0"]);
    let enqueued = scheduler.host_changed(&"h2".into(), Some(host("h2", gib(8, 64))));
    assert_eq!(enqueued, [slots[2].key.clone(), slots[1].key.clone()], "the slots of a commitment together");
}

#[test]
fn capacity_that_the_oldest_cannot_use_goes_on() {
    let (large, small) = (wanted("a", 1, 0, gib(8, 64)), wanted("b", 2, 0, size()));
    let (scheduler, old) = full(&[&large, &small]);
    assert_eq!(scheduler.reservation_changed(&old.key, None), [small.key]);
    assert!(scheduler.waiting(&large.key).is_some());
}

#[test]
fn every_way_to_free_capacity_serves_the_list() {
    let slot = wanted("a", 1, 0, size());
    let shrunk = |old: &SlotRequest| Reservation { size: gib(1, 1), ..placed(old, "h") };
    let (scheduler, old) = full(&[&slot]);
    let grown = host("h", gib(8, 64));
    assert_eq!(scheduler.host_changed(&"h".into(), Some(grown)), [slot.key.clone()], "the host grew");
    drop((scheduler, old));

    let small = wanted("a", 1, 0, gib(3, 31));
    let (scheduler, old) = full(&[&small]);
    assert_eq!(scheduler.reservation_changed(&old.key, Some(shrunk(&old))), [small.key], "a slot shrank");

    let (scheduler, old) = full(&[&slot]);
    assert_eq!(
        scheduler.reservation_changed(&old.key, Some(unplaced(&old))),
        [slot.key.clone()],
        "a slot lost its host"
    );

    let (scheduler, old) = full(&[&slot]);
    let with_vm = Host { allocation: size().into(), ..host("h2", size()) };
    assert_eq!(scheduler.host_changed(&"h2".into(), Some(with_vm)), []);
    assert_eq!(scheduler.host_changed(&"h2".into(), Some(host("h2", size()))), [slot.key.clone()], "a VM left");
    drop(old);

    let (scheduler, _) = full(&[&slot]);
    let elsewhere = Host { zone: "other".into(), ..host("h2", size()) };
    assert_eq!(scheduler.host_changed(&"h2".into(), Some(elsewhere)), []);
    assert_eq!(scheduler.host_changed(&"h2".into(), Some(host("h2", size()))), [slot.key], "the host moved");
}

#[test]
fn an_assume_entry_that_is_dropped_serves_the_list() {
    let scheduler = built_in(&[host("h", size())]);
    let (first, second) = (wanted("a", 1, 0, size()), wanted("b", 2, 0, size()));
    assert!(matches!(now(scheduler.place(&first)), Ok(Placed::Host(_))));
    assert!(matches!(now(scheduler.place(&second)), Ok(Placed::Nowhere(_))));
    assert_eq!(scheduler.applied(std::slice::from_ref(&first.key)), [second.key.clone()]);
    assert!(matches!(now(scheduler.place(&first)), Ok(Placed::Nowhere(_))));
    scheduler.in_doubt(&second.key);
    assert_eq!(scheduler.settled(&second.key), [first.key]);
}

#[test]
fn a_slot_that_moves_gives_up_capacity_for_which_another_one_is_enqueued() {
    let scheduler = built_in(&[host("h", size()), host("i", gib(5, 33))]);
    let (mine, other) = (wanted("a", 2, 0, size()), wanted("b", 1, 0, size()));
    assert_eq!(now(scheduler.place(&mine)), Ok(Placed::Host("h".into())));
    assert_eq!(now(scheduler.place(&wanted("c", 3, 0, gib(2, 16)))), Ok(Placed::Host("i".into())));
    assert!(matches!(now(scheduler.place(&other)), Ok(Placed::Nowhere(_))));
    let pin = Pin { key: mine.key.clone(), host: "i".into(), size: gib(3, 16), vms: [].into(), zone: "az".into() };
    assert_eq!(now(scheduler.pin(&pin)), Ok(true), "which releases h");
    assert_eq!(scheduler.enqueued(), [other.key]);
}

#[test]
fn a_slot_with_a_host_and_a_deleted_slot_leave_the_list() {
    let (a, b) = (wanted("a", 1, 0, size()), wanted("b", 2, 0, size()));
    let (scheduler, _) = full(&[&a, &b]);
    let _ = scheduler.reservation_changed(&a.key, Some(placed(&a, "elsewhere")));
    let _ = scheduler.reservation_changed(&b.key, None);
    assert!(scheduler.waiting_slots().is_empty());
}

#[test]
fn what_is_kept_for_a_slot_is_free_when_another_client_chose() {
    let (a, b) = (wanted("a", 1, 0, size()), wanted("b", 2, 0, size()));
    let (scheduler, old) = full(&[&a, &b]);
    assert_eq!(scheduler.reservation_changed(&old.key, None), [a.key.clone()]);
    let by_hand = scheduler.reservation_changed(&a.key, Some(placed(&a, "elsewhere")));
    assert_eq!(by_hand, [b.key.clone()]);
    assert_eq!(scheduler.reservation_changed(&b.key, None), []);
    assert_eq!(scheduler.assumed(), 0, "a deleted slot keeps nothing");
}

#[test]
fn a_cluster_that_is_heard_of_again_serves_the_list() {
    let scheduler = built_in(&[host("h", size())]);
    let cluster = ClusterName::default();
    assert_eq!(scheduler.withhold_cluster(&cluster, true), []);
    let slot = wanted("a", 1, 0, size());
    let Ok(Placed::Nowhere(shortage)) = now(scheduler.place(&slot)) else { unreachable!() };
    assert_eq!(shortage.to_string(), "1 host; cluster not reachable 1");
    assert_eq!(scheduler.withhold_cluster(&cluster, false), [slot.key]);
}

#[test]
fn a_slot_that_finds_a_host_by_itself_leaves_the_list() {
    let (a, b) = (wanted("a", 1, 0, size()), wanted("b", 2, 0, size()));
    let (scheduler, _) = full(&[&a, &b]);
    let _ = scheduler.host_changed(&"h2".into(), Some(host("h2", gib(3, 30))));
    let smaller = |slot: &SlotRequest| SlotRequest { size: gib(1, 8), ..slot.clone() };
    assert_eq!(now(scheduler.place(&smaller(&a))), Ok(Placed::Host("h2".into())));
    let again = request_of(vec![smaller(&b)], false);
    let placement = now(scheduler.place_all(&again)).unwrap();
    assert_eq!(placement, Placement::Decided { hosts: vec![Some("h2".into())], shortage: None, used: Vec::new() });
    assert!(scheduler.waiting_slots().is_empty());
}

#[test]
fn placing_a_commitment_anew_refreshes_its_counts_and_never_takes_what_is_kept_for_it_twice() {
    let slots = [wanted("a", 1, 0, size()), wanted("a", 1, 1, size())];
    let (scheduler, old) = full(&[&slots[0], &slots[1]]);
    assert_eq!(scheduler.reservation_changed(&old.key, None), [slots[0].key.clone()]);
    let _ = scheduler.host_changed(&"other".into(), Some(Host { zone: "other".into(), ..host("other", gib(8, 64)) }));
    let Ok(Placement::Decided { hosts, shortage, .. }) = now(scheduler.place_all(&request_of(slots.to_vec(), false)))
    else {
        unreachable!()
    };
    assert_eq!(hosts, [Some("h".into()), None]);
    assert_eq!(shortage.unwrap().to_string(), "2 hosts; zone 1, capacity 1");
    assert_eq!(scheduler.waiting(&slots[1].key).unwrap().to_string(), "2 hosts; zone 1, capacity 1");
    assert_eq!((scheduler.assumed(), scheduler.waiting_slots().len()), (1, 1));
}

#[test]
fn a_slot_that_withdraws_keeps_no_capacity_and_no_place_in_the_list() {
    let (first, second) = (wanted("a", 1, 0, size()), wanted("b", 2, 0, size()));
    let (scheduler, old) = full(&[&first, &second]);
    assert_eq!(scheduler.reservation_changed(&old.key, None), [first.key.clone()], "its capacity is kept");
    assert_eq!(scheduler.withdraw(&first.key), [second.key.clone()], "the kept capacity goes to the next slot");
    assert_eq!((scheduler.assumed(), scheduler.waiting(&first.key)), (1, None));
    assert_eq!(scheduler.withdraw(&second.key), []);
    assert_eq!((scheduler.assumed(), scheduler.waiting_slots()), (0, vec![]));
}

#[test]
fn withdrawing_leaves_what_an_apply_holds() {
    let slot = wanted("a", 1, 0, size());
    let scheduler = built_in(&[host("h", size())]);
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h".into())));
    assert_eq!((scheduler.withdraw(&slot.key), scheduler.assumed()), (vec![], 1));
}

#[test]
fn a_zone_without_a_host_is_reported_whichever_filter_removes_the_others() {
    let broken = Host { conditions: [("Ready".to_owned(), ConditionStatus::False)].into(), ..host("i", size()) };
    let scheduler = built_in(&[host("h", size()), broken]);
    let shortage = |zone: &str| {
        let slot = SlotRequest { zone: zone.into(), ..wanted("a", 1, 0, gib(8, 64)) };
        match now(scheduler.place(&slot)) {
            Ok(Placed::Nowhere(shortage)) => (shortage.zone_is_empty, shortage.to_string()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(shortage("other"), (true, "2 hosts; status 1, zone 1".to_owned()));
    assert_eq!(shortage("az"), (false, "2 hosts; status 1, capacity 1".to_owned()));
    for name in ["h", "i"] {
        let _ = scheduler.host_changed(&name.into(), None);
    }
    assert_eq!(shortage("az"), (true, "0 hosts".to_owned()), "its hosts are gone");
}

fn generations(all: &[(&str, i64)]) -> BTreeMap<String, i64> {
    all.iter().map(|(uid, generation)| ((*uid).to_owned(), *generation)).collect()
}

#[test]
fn a_slot_gets_a_host_only_once_its_commitment_was_planned_at_its_present_generation() {
    let (older, younger) = (wanted("a", 1, 0, size()), wanted("b", 2, 0, size()));
    let (scheduler, old) = full(&[&older, &younger]);
    scheduler.commitment_changed(&"a".into(), generations(&[("uid", 2)]));
    assert_eq!(
        scheduler.reservation_changed(&old.key, None),
        [younger.key],
        "the older one may not be wanted any more"
    );
    assert!(scheduler.waiting(&older.key).is_some(), "it keeps its place");
    assert_eq!(scheduler.host_changed(&"i".into(), Some(host("i", size()))), []);
    assert_eq!(now(scheduler.place(&older)), Ok(Placed::Unplanned));
    let existing = CommitmentRequest { existing: true, ..request_of(vec![older.clone()], false) };
    assert_eq!(now(scheduler.place_all(&existing)), Ok(Placement::Later));
    scheduler.planned(&"a".into(), "uid", 1);
    assert_eq!(scheduler.enqueued(), [], "that was another spec");
    scheduler.planned(&"a".into(), "uid", 2);
    assert_eq!(scheduler.enqueued(), [older.key.clone()]);
    assert_eq!(now(scheduler.place(&older)), Ok(Placed::Host("i".into())));
}

#[test]
fn all_objects_of_a_commitment_have_to_be_planned_and_slots_without_one_wait_for_nothing() {
    let scheduler = built_in(&[host("h", size())]);
    let slot = wanted("a", 1, 0, size());
    scheduler.commitment_changed(&"a".into(), generations(&[("one", 1), ("two", 1)]));
    scheduler.planned(&"a".into(), "one", 1);
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Unplanned));
    scheduler.commitment_changed(&"a".into(), generations(&[("one", 1)]));
    assert_eq!(scheduler.enqueued(), [slot.key.clone()], "the other one is gone");
    scheduler.commitment_changed(&"a".into(), generations(&[("one", 2)]));
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Unplanned));
    scheduler.commitment_changed(&"a".into(), generations(&[]));
    assert_eq!(scheduler.enqueued(), [slot.key.clone()]);
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h".into())));
}
