//! Claims and assume entries as users see them, and those of a leader in another process.

use super::*;
use crate::{Assumed, Claim, HeldClaim, Promises};

fn claim(vm: &str, host: &str) -> HeldClaim {
    let expires = Duration::from_secs(600);
    let claim = Claim { instance: vm.into(), host: host.into(), size: gib(1, 8), expires, ..Claim::default() };
    HeldClaim { claim, listed: BTreeSet::new() }
}

fn entry(name: &str, host: &str) -> Assumed {
    Assumed { key: key(name), host: host.into(), size: gib(2, 16), vms: [].into(), doubt: false }
}

/// Hosts `a` and `b` in zone `az`, and `far` in another one, each with one claim; `a` has two, and an entry.
fn promising() -> Watched {
    let far = Host { zone: "other".into(), ..host("far", gib(8, 64)) };
    let scheduler = built_in(&[host("a", gib(8, 64)), host("b", gib(8, 64)), far]);
    let claims = [("vm-1", "a"), ("vm-2", "b"), ("vm-3", "far"), ("vm-4", "a")].map(|(vm, host)| claim(vm, host));
    scheduler.restore_claims(claims.into());
    assert_eq!(scheduler.hold(&wanted("c1", 1, 0, gib(2, 16)), &"a".into()), Ok(true));
    scheduler
}

fn vms(promises: &Promises) -> Vec<&str> {
    promises.claims.iter().map(|held| held.claim.instance.as_str()).collect()
}

#[test]
fn promises_are_those_of_a_zone_and_of_some_slots_or_those_on_a_host() {
    let scheduler = promising();
    let here = scheduler.promises_in(&"az".into(), |slot| *slot == key("c1-0"), 10);
    assert_eq!((vms(&here), &here.assumed[..]), (vec!["vm-1", "vm-2", "vm-4"], &[entry("c1-0", "a")][..]));
    assert_eq!(vms(&scheduler.promises_in(&"".into(), |_| false, 10)).len(), 4);
    assert_eq!(scheduler.promises_in(&"az".into(), |_| false, 10).assumed, []);
    let on = |host: &str| scheduler.promises_on(&host.into(), 10);
    let here = on("a").unwrap();
    assert_eq!((vms(&here), &here.assumed[..]), (vec!["vm-1", "vm-4"], &[entry("c1-0", "a")][..]));
    assert_eq!(on("b").unwrap().assumed, []);
    assert_eq!(on("nowhere"), None);
}

#[test]
fn what_is_left_out_is_counted() {
    let scheduler = promising();
    let first = scheduler.promises_in(&"".into(), |_| true, 3);
    assert_eq!((first.claims.len(), first.claims_left_out, first.assumed_left_out), (3, 1, 0));
    let none = scheduler.promises_on(&"a".into(), 0).unwrap();
    assert_eq!((none.claims_left_out, none.assumed_left_out), (2, 1));
}

#[test]
fn the_promises_of_the_leader_replace_those_that_were_read() {
    let scheduler = promising();
    let moved = Promises { claims: vec![claim("vm-1", "b"), claim("vm-9", "a")], ..Promises::default() };
    scheduler.adopt(&["vm-4".into()], moved);
    assert_eq!(vms(&scheduler.promises_on(&"a".into(), 10).unwrap()), ["vm-9"]);
    assert_eq!(vms(&scheduler.promises_on(&"b".into(), 10).unwrap()), ["vm-1", "vm-2"]);
    assert_eq!(scheduler.drift(), [] as [HostName; 0]);
}

#[test]
fn what_the_objects_show_is_not_taken_over() {
    let scheduler = built_in(&[Host { instances: [("vm-1".into(), true)].into(), ..host("a", gib(8, 64)) }]);
    let here = slot("c1-0", "a", gib(2, 16), &[]);
    let _ = scheduler.reservation_changed(&here.key, Some(here.clone()));
    let assumed = vec![entry("c1-0", "a"), entry("c1-1", "a")];
    scheduler.adopt(&[], Promises { claims: vec![claim("vm-1", "a")], assumed, ..Promises::default() });
    let known = scheduler.promises_on(&"a".into(), 10).unwrap();
    assert_eq!((vms(&known), &known.assumed[..]), (vec![], &[entry("c1-1", "a")][..]));
}
