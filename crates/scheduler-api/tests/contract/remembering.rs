//! What is kept of decisions until objects show them, and how objects are checked.

use std::collections::BTreeMap;

use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_scheduler::{HostVerdict, Pin, Scheduler, SchedulerError, SlotRequest};

use crate::cloud::{gib, host, wanted, written};
use crate::fixture::Fixture;

pub async fn what_was_placed_is_no_intruder<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let slot = wanted("s", gib(4, 32));
    fixture.place(&slot).await.unwrap();
    fixture.shows(&written(&slot, "a"));
    fixture.ended(&slot);
    // The host is over-booked later; that does not affect a slot that we placed.
    fixture.host(host("a", gib(2, 16)));
    assert_eq!(fixture.scheduler().verdict(&slot.key), HostVerdict::Ok);
    fixture.assumes_nothing();
}

pub async fn what_another_client_placed_is_checked<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let slots = ["ok", "large", "nowhere", "zone", "unknown"].map(|name| wanted(name, gib(1, 8)));
    let [ok, large, nowhere, zone, unknown] = slots;
    let large = SlotRequest { size: gib(16, 8), ..large };
    let zone = SlotRequest { zone: "other".into(), ..zone };
    fixture.shows(&written(&ok, "a"));
    assert_eq!(fixture.scheduler().verdict(&ok.key), HostVerdict::Ok);
    fixture.shows(&written(&nowhere, "no-such-host"));
    fixture.shows(&written(&zone, "a"));
    let verdict = |slot: &SlotRequest| fixture.scheduler().verdict(&slot.key);
    assert_eq!(verdict(&nowhere), HostVerdict::NoSuchHost);
    assert_eq!(verdict(&zone), HostVerdict::WrongZone { zone: "az".into() });
    assert_eq!(verdict(&unknown), HostVerdict::Ok);
    fixture.gone(&zone.key);
    fixture.shows(&written(&large, "a"));
    assert!(matches!(verdict(&large), HostVerdict::Overbooked { .. }), "{:?}", verdict(&large));
}

pub async fn an_apply_that_failed_leaves_nothing_behind<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let slot = wanted("s", gib(4, 32));
    assert!(fixture.place(&slot).await.is_some());
    fixture.ended(&slot);
    // The same slot may be tried again.
    assert!(fixture.place(&slot).await.is_some());
    fixture.ended(&slot);
    fixture.answers_run_out();
    fixture.assumes_nothing();
    assert!(fixture.place(&wanted("t", gib(4, 32))).await.is_some());
}

pub async fn a_write_in_doubt_keeps_its_host<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(4, 32))]).await;
    let slot = wanted("s", gib(2, 16));
    let host = fixture.place(&slot).await.unwrap();
    fixture.scheduler().in_doubt(&slot.key);
    fixture.ended(&slot);
    assert_eq!(fixture.place(&slot).await.as_ref(), Some(&host));
    let larger = SlotRequest { size: gib(3, 16), ..slot.clone() };
    let elsewhere = SlotRequest { zone: "other".into(), ..slot.clone() };
    let doubt = SchedulerError::InDoubt { key: slot.key.clone(), host };
    for other in [&larger, &elsewhere] {
        assert_eq!(fixture.scheduler().place(other).await, Err(doubt.clone()));
    }
    // An apply that knows nothing of it does not end it; a reconciliation does.
    fixture.ended(&slot);
    assert_eq!(fixture.scheduler().place(&larger).await, Err(doubt));
    fixture.scheduler().settled(&slot.key);
    fixture.answers_run_out();
    fixture.assumes_nothing();
    assert!(fixture.place(&larger).await.is_some());
}

pub async fn a_pin_takes_capacity_on_one_host_only<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(4, 32))]).await;
    let pin = |host: &str, size, zone: &str| {
        let key = wanted("s", size).key;
        Pin { key, host: host.into(), size, vms: [].into(), zone: zone.into() }
    };
    for (pin, expected) in [
        (pin("a", gib(5, 8), "az"), false),
        (pin("no-such-host", gib(1, 8), "az"), false),
        (pin("a", gib(1, 8), "other"), false),
        (pin("a", gib(4, 32), "az"), true),
    ] {
        assert_eq!(fixture.scheduler().pin(&pin).await, Ok(expected), "{pin:?}");
    }
    let slot = wanted("s", gib(4, 32));
    assert_eq!(fixture.place(&slot).await, Some("a".into()));
    fixture.shows(&written(&slot, "a"));
    fixture.ended(&slot);
    assert_eq!(fixture.scheduler().verdict(&slot.key), HostVerdict::Ok);
    fixture.assumes_nothing();
}

pub async fn a_pin_around_a_vm_needs_no_capacity_that_the_vm_has<F: Fixture>() {
    let (size, vms) = (gib(4, 32), [("vm".into(), true)].into());
    let full = Host { allocation: size.into(), instances: vms, ..host("a", size) };
    let fixture = F::with(&[full]).await;
    let vms = [("vm".into(), size)].into();
    let pin = |name: &str| {
        let key = wanted(name, size).key;
        Pin { key, host: "a".into(), size, vms: [].into(), zone: "az".into() }
    };
    let around_vm = |name: &str| Pin { vms: BTreeMap::clone(&vms), ..pin(name) };
    assert_eq!(fixture.scheduler().pin(&pin("s")).await, Ok(false));
    assert_eq!(fixture.scheduler().pin(&around_vm("s")).await, Ok(true));
    assert_eq!(fixture.scheduler().pin(&around_vm("t")).await, Ok(false), "the VM is in the other slot");
    let slot = wanted("s", size);
    let kind = ReservationKind::Committed(vms.clone());
    fixture.shows(&Reservation { kind, ..written(&slot, "a") });
    fixture.ended(&slot);
    assert_eq!(fixture.scheduler().verdict(&slot.key), HostVerdict::Ok);
    fixture.assumes_nothing();
}

pub async fn capacity_is_reported_or_not_known<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    fixture.shows(&written(&wanted("s", gib(1, 8)), "a"));
    let free = fixture.scheduler().free_capacity(&"a".into());
    assert_eq!(free, F::DIFFERS.reports_capacity.then_some(gib(3, 24)));
    assert_eq!(fixture.scheduler().free_capacity(&"no-such-host".into()), None);
}
