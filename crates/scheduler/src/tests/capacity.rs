//! Worked examples of capacity. Memory is always in MiB.

use berth_core::host::Amounts;

use super::*;
use crate::{Options, Param, ReservationType};

const HOST: &str = "h1";

fn h1() -> Host {
    Host { allocation: gib(20, 160).into(), instances: [("a".into(), true)].into(), ..host(HOST, gib(64, 512)) }
}

fn step() -> StepSpec {
    StepSpec::new("filter_has_enough_capacity")
}

fn passes(request: &Request, hosts: &[Host], reservations: &[Reservation]) -> bool {
    kept(&step(), request, &fleet(hosts, reservations)) == [HOST]
}

fn mib(gib: u64) -> u64 {
    gib * 1024
}

/// A ready slot of p1 and g1 with VM a in it.
fn partly_used() -> Reservation {
    slot("r", HOST, gib(16, 128), &[("a", gib(8, 64))])
}

#[test]
fn a_partly_used_slot_of_another_project_blocks_its_rest() {
    let other = |vcpus, memory| request(vcpus, memory, &[("quota:hw_version", "g1")]);
    for (vcpus, memory, expected) in
        [(40, mib(288), false), (36, mib(288), true), (36, mib(288) + 1, false), (37, mib(288), false)]
    {
        assert_eq!(passes(&other(vcpus, memory), &[h1()], &[partly_used()]), expected, "{vcpus} {memory}");
    }
}

#[test]
fn unlock_and_lock() {
    let own = |group| Request { project: "p1".into(), ..request(40, mib(288), &[("quota:hw_version", group)]) };
    let locked = Request { options: Options { lock_reservations: true, ..Options::default() }, ..own("g1") };
    let placement = with_intent(own("g1"), Intent::ReserveForCommittedResource);
    let not_ready = Reservation { ready: false, ..partly_used() };
    let no_group = Reservation { group: "".into(), ..partly_used() };
    for (what, request, reservation, expected) in [
        ("no intent", own("g1"), partly_used(), true),
        ("lock_reservations", locked, partly_used(), false),
        ("slot placement", placement.clone(), partly_used(), false),
        ("other group", own("g2"), partly_used(), false),
        ("not ready", own("g1"), not_ready, false),
        ("no group, other project", request(40, mib(288), &[]), no_group.clone(), true),
        ("no group, slot placement: so that placing and free capacity agree", placement, no_group, false),
    ] {
        assert_eq!(passes(&request, &[h1()], &[reservation]), expected, "{what}");
    }
    let lock = Param { key: "lockReserved".to_owned(), bool_value: Some(true), ..Param::default() };
    assert!(kept(&step().with(lock), &own("g1"), &fleet(&[h1()], &[partly_used()])).is_empty());
}

#[test]
fn pending_vm_takes_the_maximum_per_resource() {
    let pending = slot("r", HOST, gib(8, 64), &[("a", gib(4, 32)), ("b", gib(2, 48))]);
    let grown = slot("r", HOST, gib(8, 64), &[("a", gib(10, 80))]);
    for (reservation, cpu, memory) in [(pending, 44 - 4, 352 - 48), (grown, 44, 352)] {
        let fits = |cpu, memory| passes(&request(cpu, mib(memory), &[]), &[h1()], std::slice::from_ref(&reservation));
        assert!(fits(cpu, memory) && !fits(cpu + 1, memory) && !fits(cpu, memory + 1), "{reservation:?}");
    }
}

#[test]
fn a_moving_slot_blocks_what_is_not_confirmed_on_each_host() {
    let moving = Reservation {
        target_host: Some("hb".into()),
        status_host: Some("ha".into()),
        ..slot("m", "ha", gib(8, 64), &[("a", gib(8, 64))])
    };
    let old =
        Host { allocation: gib(8, 64).into(), instances: [("a".into(), true)].into(), ..host("ha", gib(32, 256)) };
    let fleet = fleet(&[old, host("hb", gib(32, 256))], &[moving]);
    assert_eq!(kept(&step(), &request(24, mib(192), &[]), &fleet), ["ha", "hb"]);
    assert!(kept(&step(), &request(25, mib(128), &[]), &fleet).is_empty());
}

#[test]
fn a_failover_slot_blocks_its_host() {
    let slot = failover("f", HOST, gib(16, 128), &["v1"]);
    let ask = |vm: &str, intent| Request { instance: vm.into(), ..with_intent(request(40, mib(128), &[]), intent) };
    let options = |options| Request { options, ..ask("v1", Intent::Evacuate) };
    let locked = options(Options { lock_reservations: true, ..Options::default() });
    let ignored = Options { ignored_reservation_types: [ReservationType::Failover].into(), ..Options::default() };
    let unready = Reservation { ready: false, ..slot.clone() };
    for (what, request, reservation, expected) in [
        ("v1, evacuate", ask("v1", Intent::Evacuate), slot.clone(), true),
        ("v1, evacuate, locked", locked, slot.clone(), true),
        ("v2, evacuate", ask("v2", Intent::Evacuate), slot.clone(), false),
        ("v1, live migration", ask("v1", Intent::LiveMigration), slot.clone(), false),
        ("v2, reuse", ask("v2", Intent::ReuseFailoverReservation), slot.clone(), true),
        ("v1, evacuate, not ready", ask("v1", Intent::Evacuate), unready, false),
        ("ignored", Request { options: ignored, ..ask("v1", Intent::Create) }, slot, true),
    ] {
        assert_eq!(passes(&request, &[h1()], &[reservation]), expected, "{what}");
    }
}

#[test]
fn an_in_flight_reservation_does_not_block_its_own_vm() {
    let landing = Reservation {
        kind: ReservationKind::InFlight("v1".into()),
        status_host: None,
        ready: false,
        ..slot("i", HOST, gib(8, 64), &[])
    };
    let ask = |vm: &str, vcpus| Request { instance: vm.into(), ..request(vcpus, mib(288), &[]) };
    let ignored = Options { ignored_reservation_types: [ReservationType::InFlight].into(), ..Options::default() };
    for (request, expected) in [
        (ask("v2", 36), true),
        (ask("v2", 37), false),
        (ask("v1", 44), true),
        (ask("v1", 45), false),
        (Request { options: ignored, ..ask("v2", 44) }, true),
    ] {
        assert_eq!(passes(&request, &[h1()], std::slice::from_ref(&landing)), expected, "{request:?}");
    }
    let ready = Reservation { ready: true, ..landing };
    assert!(!passes(&ask("v2", 37), &[h1()], &[ready]));
}

#[test]
fn probes_of_the_total_ignore_in_flight_reservations() {
    let in_flight = Reservation { kind: ReservationKind::InFlight("v1".into()), ..slot("i", HOST, gib(8, 64), &[]) };
    let reservations = [slot("c", HOST, gib(16, 128), &[]), failover("f", HOST, gib(8, 64), &[]), in_flight];
    let probe = |vcpus, gib, options| {
        let request = with_intent(request(vcpus, mib(gib), &[]), Intent::CapacityProbe);
        passes(&Request { options, ..request }, &[h1()], &reservations)
    };
    let placeable = Options::read_only;
    assert!(probe(12, 96, placeable()) && !probe(13, 96, placeable()) && !probe(12, 97, placeable()));
    let empty = || Options { assume_empty_hosts: true, ..Options::read_only() };
    let ignored = [ReservationType::Committed, ReservationType::Failover];
    let total = || Options { ignored_reservation_types: ignored.into(), ..empty() };
    assert!(probe(64, 512, total()) && !probe(65, 512, total()), "64 - 0, not 64 - 8");
    assert!(probe(40, 320, empty()) && !probe(41, 320, empty()), "64 - 16 - 8");
}

/// With `ignoreAllocations` hosts count as empty, so the confirmed VM in the slot must not count as used either.
#[test]
fn on_hosts_that_count_as_empty_a_slot_blocks_its_whole_size() {
    let used =
        Host { allocation: gib(64, 256).into(), instances: [("a".into(), true)].into(), ..host(HOST, gib(160, 640)) };
    let slot = slot("s", HOST, gib(50, 200), &[("a", gib(30, 120))]);
    let fits = |vcpus, gib, empty| {
        let request = with_intent(request(vcpus, mib(gib), &[]), Intent::CapacityProbe);
        let options = Options { assume_empty_hosts: empty, ..Options::read_only() };
        passes(&Request { options, ..request }, &[used.clone()], &[slot.clone()])
    };
    assert!(fits(110, 440, true) && !fits(111, 440, true) && !fits(110, 441, true), "160/640 less 50/200");
    assert!(fits(76, 304, false) && !fits(77, 304, false), "160/640 less 64/256 less 20/80");
}

#[test]
fn a_vm_of_16_gib_needs_16_gib() {
    let free = |mib: u64| Host {
        allocation: Resources::ZERO.into(),
        ..host(HOST, Resources::new(Bytes::from_mib(mib), Cores::new(64)))
    };
    assert!(!passes(&request(1, mib(16), &[]), &[free(mib(16) - 1)], &[]));
    assert!(passes(&request(1, mib(16), &[]), &[free(mib(16))], &[]));
}

/// The reference counts 126,000 "MB" here, which is one slot, and over-books the host by 2,849,018,880 bytes.
#[test]
fn a_slot_must_fit_in_bytes() {
    let free = |bytes| Host {
        allocation: Resources::ZERO.into(),
        ..host(HOST, Resources::new(Bytes::new(bytes), Cores::new(64)))
    };
    let fits = |bytes| passes(&request(1, 122_880, &[]), &[free(bytes)], &[]);
    assert!(!fits(126_000_000_000));
    assert!(!fits(128_849_018_879) && fits(128_849_018_880));
}

#[test]
fn overallocated_and_unknown_hosts_have_no_capacity() {
    let over = Host { allocation: gib(40, 100).into(), ..host(HOST, gib(32, 256)) };
    assert!(!passes(&request(1, 1, &[]), &[over.clone()], &[]));
    assert!(!passes(&request(1, 1, &[]), &[over], &[slot("s", HOST, gib(0, 0), &[])]));
    let unknown = Host { capacity: Amounts::default(), ..host(HOST, gib(32, 256)) };
    assert!(!passes(&request(1, 1, &[]), &[unknown], &[]));
    let half = Host { capacity: Amounts { cpu: None, ..gib(32, 256).into() }, ..host(HOST, gib(32, 256)) };
    assert!(!passes(&request(1, 1, &[]), &[half], &[]));
}

#[test]
fn several_instances_need_capacity_together() {
    let ask = |instances, vcpus| Request { instances, ..request(vcpus, mib(64), &[]) };
    let host = host(HOST, gib(30, 256));
    for (instances, vcpus, expected) in [(3, 8, true), (4, 8, false), (0, 8, true), (0, 31, false)] {
        assert_eq!(passes(&ask(instances, vcpus), &[host.clone()], &[]), expected, "{instances} {vcpus}");
    }
}

#[test]
fn a_flavor_without_vcpus_or_memory_fits_nowhere_and_reports_it() {
    for (vcpus, memory, text) in [(0, 1, "flavor has 0 vcpus"), (1, 0, "flavor has 0 memory")] {
        let decision = run(&pipeline(&[step()], &[]), &request(vcpus, memory, &[]), &fleet(&[h1()], &[])).unwrap();
        assert!(decision.hosts.is_empty());
        assert_eq!(decision.events[0].event, "step_failed");
        assert_eq!(decision.failed.unwrap().to_string(), format!("filter_has_enough_capacity failed: {text}"));
    }
}

#[test]
fn an_unlocked_slot_still_blocks_vms_to_come() {
    let host = host(HOST, gib(8, 64));
    let slot = slot("s", HOST, gib(8, 64), &[("a", gib(4, 32))]);
    let own = |vm: &str, vcpus, gib| Request {
        project: "p1".into(),
        instance: vm.into(),
        ..request(vcpus, mib(gib), &[("quota:hw_version", "g1")])
    };
    for (request, expected) in
        [(own("b", 8, 64), false), (own("b", 4, 32), true), (own("b", 5, 32), false), (own("a", 8, 64), true)]
    {
        assert_eq!(passes(&request, &[host.clone()], std::slice::from_ref(&slot)), expected, "{request:?}");
    }
}

#[test]
fn unreadable_capacity_is_counted_apart_and_named() {
    let bad = |name: &str| Host { invalid_amount: Some(format!("{name} is odd")), ..host(name, gib(64, 512)) };
    let elsewhere = Host { zone: "other".into(), ..host("e", gib(64, 512)) };
    let fleet = fleet(&[bad("n3"), elsewhere, bad("n2"), host("full", gib(1, 1)), bad("n1")], &[]);
    let ask = Request { zone: "az".into(), ..request(4, mib(4), &[]) };
    let decision = run(&pipeline(&[StepSpec::new("filter_correct_az"), step()], &[]), &ask, &fleet).unwrap();
    assert_eq!(
        decision.removed.to_string(),
        "5 hosts; zone 1, capacity 1, unreadable capacity 3 (n1: n1 is odd; n2: n2 is odd)"
    );
    assert!(kept(&StepSpec::new("filter_correct_az"), &ask, &fleet).iter().all(|host| host == "full"));
}
