//! Capacity that the commitments of an open change hand to each other.

use super::*;
use crate::{Handover, Placed, Placement};

const CHANGE: &str = "change-a";

fn size() -> Resources {
    gib(4, 32)
}

/// A host with capacity for so many slots, and the slots of a commitment on it.
fn full_host(slots: u64) -> (Watched, Vec<SlotRequest>) {
    let all = i64::try_from(slots).unwrap();
    let scheduler = built_in(&[host("h", gib(4 * all, 32 * all))]);
    let old: Vec<SlotRequest> = (0..slots).map(|number| wanted("old", 1, number, size())).collect();
    for slot in &old {
        let _ = scheduler.reservation_changed(&slot.key, Some(placed(slot, "h")));
    }
    (scheduler, old)
}

fn growing(name: &str, slots: u64, size: Resources, released: &[SlotRequest]) -> CommitmentRequest {
    CommitmentRequest {
        slots: (0..slots).map(|number| wanted(name, 2, number, size)).collect(),
        all_or_nothing: true,
        handover: Some(Handover {
            change: CHANGE.to_owned(),
            slots: released.iter().map(|slot| slot.key.clone()).collect(),
        }),
        ..CommitmentRequest::default()
    }
}

/// How many slots got a host, and which slots of others are needed for that.
fn place_all(scheduler: &Watched, request: &CommitmentRequest) -> (usize, Vec<SlotKey>) {
    match now(scheduler.place_all(request)).unwrap() {
        Placement::Decided { hosts, used, .. } => (hosts.iter().flatten().count(), used),
        Placement::Later => unreachable!("the built-in scheduler decides"),
    }
}

/// The slot that waits for any capacity.
fn waiting(scheduler: &Watched) -> SlotRequest {
    let slot = wanted("waiting", 0, 0, gib(1, 8));
    assert!(matches!(now(scheduler.place(&slot)), Ok(Placed::Nowhere(_))));
    slot
}

#[test]
fn only_the_slots_whose_capacity_is_needed_are_used() {
    let (scheduler, old) = full_host(4);
    let (found, used) = place_all(&scheduler, &growing("new", 2, size(), &old));
    assert_eq!((found, used.len()), (2, 2));
}

#[test]
fn what_is_left_of_a_used_slot_is_held_until_the_change_has_ended() {
    let (scheduler, old) = full_host(1);
    let waiting = waiting(&scheduler);
    let (found, used) = place_all(&scheduler, &growing("new", 1, gib(1, 8), &old));
    assert_eq!((found, used), (1, vec![old[0].key.clone()]));
    assert_eq!(scheduler.reservation_changed(&old[0].key, None), [], "the oldest waiting slot gets nothing");
    let new = wanted("new", 2, 0, gib(1, 8));
    let _ = scheduler.reservation_changed(&new.key, Some(placed(&new, "h")));
    let _ = scheduler.applied(&[new.key]);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(0, 0)));
    scheduler.end_change(CHANGE);
    assert_eq!(scheduler.enqueued(), [waiting.key]);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(2, 16)));
}

#[test]
fn the_capacity_of_a_slot_that_was_not_created_is_held_for_the_change_again() {
    for is_tried_again in [true, false] {
        let (scheduler, old) = full_host(1);
        let waiting = waiting(&scheduler);
        let new = growing("new", 1, size(), &old);
        assert_eq!(place_all(&scheduler, &new).0, 1);
        assert_eq!(scheduler.reservation_changed(&old[0].key, None), []);
        let _ = scheduler.applied(&[new.slots[0].key.clone()]);
        assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(0, 0)), "the creation has failed");
        assert_eq!(scheduler.enqueued(), [], "the slot that waits gets nothing of an open change");
        if is_tried_again {
            assert_eq!(place_all(&scheduler, &growing("new", 1, size(), &[])).0, 1);
        } else {
            scheduler.end_change(CHANGE);
            assert_eq!(scheduler.enqueued(), [waiting.key]);
        }
    }
}

#[test]
fn another_commitment_of_the_change_gets_what_is_held() {
    let (scheduler, old) = full_host(1);
    let _ = place_all(&scheduler, &growing("one", 1, gib(1, 8), &old));
    let _ = scheduler.reservation_changed(&old[0].key, None);
    assert_eq!(place_all(&scheduler, &growing("two", 3, gib(1, 8), &old)).0, 3);
    scheduler.end_change(CHANGE);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(0, 0)));
}

#[test]
fn a_refused_commitment_leaves_what_is_held_as_it_was() {
    let (scheduler, old) = full_host(1);
    let _ = place_all(&scheduler, &growing("one", 1, gib(1, 8), &old));
    let _ = scheduler.reservation_changed(&old[0].key, None);
    let before = (scheduler.assumed(), scheduler.free_capacity(&"h".into()));
    assert_eq!(place_all(&scheduler, &growing("two", 4, gib(1, 8), &old)), (3, vec![]), "one does not fit");
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h".into())), before);
}

#[test]
fn a_new_process_holds_what_a_change_has_deleted_as_far_as_it_is_free() {
    let scheduler = built_in(&[host("h", gib(8, 64))]);
    scheduler.hold_for_change(CHANGE, &[("h".into(), gib(6, 32)), ("h".into(), gib(6, 16)), ("gone".into(), size())]);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(0, 16)), "no host has less than nothing");
    scheduler.end_change(CHANGE);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(8, 64)));
}

#[test]
fn an_over_booked_host_gives_nothing_up_for_others_without_need() {
    let (scheduler, old) = full_host(2);
    let _ = scheduler.host_changed(&"h".into(), Some(host("h", gib(7, 56))));
    let _ = scheduler.host_changed(&"other".into(), Some(host("other", size())));
    let (found, used) = place_all(&scheduler, &growing("new", 1, size(), &old));
    assert_eq!((found, used.len()), (1, 0), "there is room on the other host");
}

#[test]
fn a_dry_run_counts_what_is_released_and_keeps_nothing() {
    let (scheduler, old) = full_host(4);
    let before = (scheduler.assumed(), scheduler.free_capacity(&"h".into()));
    let dry_run = |change: &[CommitmentRequest]| now(scheduler.dry_run(change)).unwrap();
    let both = [growing("one", 3, size(), &old), growing("two", 1, size(), &old)];
    assert!(dry_run(&both).iter().all(|found| found.shortage.is_none()));
    let too_much = [growing("one", 3, size(), &old), growing("two", 2, size(), &old)];
    let found = dry_run(&too_much);
    assert!(found[0].shortage.is_none());
    assert_eq!((found[1].hosts.iter().flatten().count(), found[1].shortage.is_some()), (1, true));
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h".into())), before);
}

#[test]
fn a_dry_run_is_not_refused_because_of_an_entry_in_doubt() {
    let scheduler = built_in(&[host("h", size())]);
    let slot = wanted("other", 1, 0, size());
    assert!(matches!(now(scheduler.place(&slot)), Ok(Placed::Host(_))));
    scheduler.in_doubt(&slot.key);
    let found = now(scheduler.dry_run(&[growing("new", 1, size(), &[])]));
    assert!(matches!(found, Err(SchedulerError::InDoubt { .. })), "{found:?}");
}
