//! Free capacity on a given host, and whether the host of a slot is feasible for it.

use super::*;
use crate::{HostVerdict, Pin, Placed, Scheduler};

fn pin(key: &SlotKey, host: &str, size: Resources) -> Pin {
    Pin { key: key.clone(), host: host.into(), size, vms: [].into(), zone: "az".into() }
}

#[test]
fn restoring_a_slot_takes_the_difference() {
    let scheduler = built_in(&[host("h", gib(8, 64))]);
    let slot = wanted("a", 1, 0, gib(4, 32));
    let _ = scheduler.reservation_changed(&slot.key, Some(placed(&slot, "h")));
    assert_eq!(now(scheduler.pin(&pin(&slot.key, "h", gib(9, 64)))), Ok(false));
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h".into())), (0, Some(gib(4, 32))));
    assert_eq!(now(scheduler.pin(&pin(&slot.key, "h", gib(7, 60)))), Ok(true));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(1, 4)));
    let _ = scheduler.reservation_changed(&slot.key, Some(Reservation { size: gib(7, 60), ..placed(&slot, "h") }));
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h".into())), (0, Some(gib(1, 4))));
}

#[test]
fn slot_follows_its_vm_into_what_it_does_not_use() {
    let target = |slot: Resources| {
        let vms = [("vm".into(), true)].into();
        let new = Host { allocation: gib(70, 300).into(), instances: vms, ..host("new", gib(128, 512)) };
        let scheduler = built_in(&[host("old", gib(128, 512)), new]);
        let other = wanted("other", 1, 0, slot);
        let _ = scheduler.reservation_changed(&other.key, Some(placed(&other, "new")));
        let moving = super::slot("s", "old", gib(50, 200), &[("vm", gib(30, 120))]);
        let _ = scheduler.reservation_changed(&moving.key, Some(moving.clone()));
        (scheduler, moving)
    };
    let (scheduler, moving) = target(gib(25, 100));
    assert_eq!(scheduler.free_capacity(&"new".into()), Some(gib(33, 112)));
    assert_eq!(now(scheduler.pin(&pin(&moving.key, "new", moving.size))), Ok(true), "80/20 of 112/33");
    assert_eq!(scheduler.free_capacity(&"new".into()), Some(gib(13, 32)));
    let synced = Reservation { target_host: Some("new".into()), status_host: Some("new".into()), ..moving };
    let _ = scheduler.reservation_changed(&synced.key.clone(), Some(synced));
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"new".into())), (0, Some(gib(13, 32))));

    let (scheduler, moving) = target(gib(25, 140));
    assert_eq!(now(scheduler.pin(&pin(&moving.key, "new", moving.size))), Ok(false), "72 < 80");
}

#[test]
fn a_pin_needs_a_known_host_of_the_zone_with_readable_capacity() {
    let odd = Host { invalid_amount: Some("odd".to_owned()), ..host("odd", gib(8, 8)) };
    let elsewhere = Host { zone: "other".into(), ..host("elsewhere", gib(8, 8)) };
    let scheduler = built_in(&[odd, elsewhere, host("good", gib(8, 8))]);
    for (host, expected) in [("odd", false), ("elsewhere", false), ("ghost", false), ("good", true)] {
        assert_eq!(now(scheduler.pin(&pin(&key("s"), host, gib(1, 1)))), Ok(expected), "{host}");
    }
}

#[test]
fn a_pin_never_moves_what_is_in_doubt() {
    let scheduler = built_in(&[host("a", gib(8, 8)), host("b", gib(8, 8))]);
    assert_eq!(now(scheduler.pin(&pin(&key("s"), "a", gib(4, 4)))), Ok(true));
    scheduler.in_doubt(&key("s"));
    assert!(matches!(now(scheduler.pin(&pin(&key("s"), "b", gib(1, 1)))), Err(SchedulerError::InDoubt { .. })));
    assert_eq!(now(scheduler.pin(&pin(&key("s"), "a", gib(1, 1)))), Ok(true));
    assert_eq!((scheduler.free_capacity(&"a".into()), scheduler.doubts().len()), (Some(gib(4, 4)), 1));
}

#[test]
fn verdict_on_a_host_that_another_client_set() {
    let elsewhere = Host { zone: "other".into(), ..host("elsewhere", gib(8, 8)) };
    let scheduler = built_in(&[host("h", gib(8, 64)), elsewhere]);
    let set = |slot: &SlotRequest, host: &str| {
        let _ = scheduler.reservation_changed(&slot.key, Some(placed(slot, host)));
        scheduler.verdict(&slot.key)
    };
    assert_eq!(set(&wanted("a", 1, 0, gib(4, 32)), "ghost"), HostVerdict::NoSuchHost);
    assert_eq!(set(&wanted("a", 1, 1, gib(4, 32)), "elsewhere"), HostVerdict::WrongZone { zone: "other".into() });
    assert_eq!(set(&wanted("a", 1, 2, gib(8, 64)), "h"), HostVerdict::Ok);
    assert_eq!(set(&wanted("a", 1, 3, gib(1, 8)), "h"), HostVerdict::Overbooked { free: gib(-1, -8).into() });
    assert_eq!(scheduler.verdict(&key("a-2")), HostVerdict::Ok, "only as many go as necessary");
    assert_eq!(scheduler.verdict(&key("unknown")), HostVerdict::Ok);
}

#[test]
fn only_empty_slots_that_are_not_in_force_and_not_ours_are_repaired() {
    let scheduler = built_in(&[host("h", gib(8, 64))]);
    let ours = wanted("a", 1, 0, gib(8, 64));
    assert_eq!(now(scheduler.place(&ours)), Ok(Placed::Host("h".into())));
    let _ = scheduler.reservation_changed(&ours.key, Some(placed(&ours, "h")));
    let in_force = slot("b", "h", gib(1, 1), &[]);
    let with_vm = Reservation { ready: false, ..slot("c", "h", gib(1, 1), &[("vm", gib(1, 1))]) };
    for reservation in [in_force, with_vm] {
        let _ = scheduler.reservation_changed(&reservation.key.clone(), Some(reservation));
    }
    for name in ["a-0", "b", "c"] {
        assert_eq!(scheduler.verdict(&key(name)), HostVerdict::Ok, "{name}");
    }
    let _ = scheduler.reservation_changed(&ours.key, Some(Reservation { ready: true, ..placed(&ours, "h") }));
    assert_eq!(scheduler.verdict(&ours.key), HostVerdict::Ok, "our slot stays while its host stays");
}
