//! Hosts that the client has chosen.

use super::*;
use crate::{HostVerdict, Placed, Scheduler};

fn small_cloud() -> Watched {
    built_in(&[host("b", gib(8, 64)), host("a", gib(8, 64))])
}

#[test]
fn all_hosts_are_named_in_order() {
    assert_eq!(names(&small_cloud().host_names()), ["a", "b"]);
}

#[test]
fn a_host_that_another_client_chose_is_held_if_it_is_in_the_zone_and_has_the_capacity() {
    let scheduler = small_cloud();
    let (first, second) = (wanted("c1", 1, 0, gib(6, 48)), wanted("c2", 2, 0, gib(6, 48)));
    assert_eq!(scheduler.hold(&first, &"a".into()), Ok(true));
    assert_eq!(scheduler.hold(&first, &"a".into()), Ok(true), "it is not in its own way");
    assert_eq!(scheduler.is_held(&first), Ok(Some("a".into())));
    let refused = |slot: &SlotRequest| scheduler.hold(slot, &"a".into()).unwrap_err().to_string();
    let full = "the external scheduler chose host a, which has 16Gi memory, 2 cores free, and the slot needs 48Gi \
                memory, 6 cores";
    assert_eq!(refused(&second), full);
    let elsewhere = SlotRequest { zone: "other".into(), ..wanted("c3", 3, 0, gib(1, 8)) };
    let zone = "the external scheduler chose host a, which is in zone \"az\" and not in zone \"other\"";
    assert_eq!(refused(&elsewhere), zone);
    assert_eq!(scheduler.assumed(), 1);
    assert!(scheduler.reservation_changed(&first.key, Some(placed(&first, "a"))).is_empty());
    assert!(scheduler.applied(&[first.key.clone()]).is_empty());
    assert_eq!((scheduler.verdict(&first.key), scheduler.assumed()), (HostVerdict::Ok, 0));
}

#[test]
fn an_unknown_host_is_not_held_and_an_ended_apply_leaves_nothing() {
    let scheduler = small_cloud();
    let slot = wanted("c1", 1, 0, gib(1, 8));
    assert_eq!(scheduler.hold(&slot, &"elsewhere".into()), Ok(false));
    assert_eq!(scheduler.is_held(&slot), Ok(None));
    assert_eq!(scheduler.hold(&slot, &"a".into()), Ok(true));
    assert!(scheduler.applied(&[slot.key.clone()]).is_empty());
    assert_eq!((scheduler.is_held(&slot), scheduler.assumed()), (Ok(None), 0));
}

#[test]
fn what_is_held_answers_only_for_its_size_and_zone() {
    let scheduler = small_cloud();
    let slot = wanted("c1", 1, 0, gib(1, 8));
    assert_eq!(scheduler.hold(&slot, &"a".into()), Ok(true));
    let larger = SlotRequest { size: gib(2, 8), ..slot.clone() };
    let elsewhere = SlotRequest { zone: "other".into(), ..slot.clone() };
    assert_eq!((scheduler.is_held(&larger), scheduler.is_held(&elsewhere)), (Ok(None), Ok(None)));
}

#[test]
fn an_entry_in_doubt_can_only_be_repeated() {
    let scheduler = small_cloud();
    let slot = wanted("c1", 1, 0, gib(2, 16));
    assert_eq!(scheduler.hold(&slot, &"a".into()), Ok(true));
    scheduler.in_doubt(&slot.key);
    let larger = SlotRequest { size: gib(4, 16), ..slot.clone() };
    let doubt = SchedulerError::InDoubt { key: slot.key.clone(), host: "a".into() };
    assert_eq!(scheduler.is_held(&slot), Ok(Some("a".into())));
    assert_eq!(scheduler.is_held(&larger), Err(doubt.clone()));
    assert_eq!(scheduler.hold(&slot, &"b".into()), Err(doubt.clone()));
    assert_eq!(scheduler.hold(&larger, &"a".into()), Err(doubt));
    assert_eq!(scheduler.hold(&slot, &"a".into()), Ok(true));
    assert_eq!(scheduler.doubts(), [slot.key.clone()]);
}

#[test]
fn capacity_that_holding_frees_goes_to_the_waiting_list() {
    let scheduler = built_in(&[host("a", gib(4, 32)), host("b", gib(2, 16))]);
    let (mover, waiter) = (wanted("c1", 1, 0, gib(2, 16)), wanted("c2", 2, 0, gib(4, 32)));
    assert_eq!(scheduler.hold(&mover, &"a".into()), Ok(true));
    assert!(matches!(now(scheduler.place(&waiter)), Ok(Placed::Nowhere(_))));
    assert_eq!(scheduler.hold(&mover, &"b".into()), Ok(true));
    assert_eq!(scheduler.applied(&[]), [waiter.key.clone()]);
    assert_eq!(now(scheduler.place(&waiter)), Ok(Placed::Host("a".into())));
}
