//! Answers to requests of Nova: which hosts, in which order, and which capacity they claim.

use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::{Answer, AnswerSettings, Call, Candidates, Options, Outcome, Placed, ReservationType, Scheduler};

pub(super) fn call(request: &Request) -> Call<'_> {
    Call { explain: request.options.explain, ..Call::new(request, (Duration::ZERO, Timestamp::UNIX_EPOCH)) }
}

pub(super) fn at(seconds: u64, request: &Request) -> Call<'_> {
    let time = Timestamp::from_second(seconds.try_into().unwrap()).unwrap();
    Call { now: Duration::from_secs(seconds), time, trusted_time: Some(time), ..call(request) }
}

pub(super) fn cloud(hosts: &[Host], answers: AnswerSettings) -> Watched {
    let scheduler = Watched::new(Settings { tie_break: TieBreak::Name, answers, ..Settings::default() });
    for host in hosts {
        assert!(scheduler.host_changed(&host.name, Some(host.clone())).is_empty());
    }
    scheduler
}

fn limited() -> AnswerSettings {
    AnswerSettings { limit_to_request: true, ..AnswerSettings::default() }
}

/// A VM of 4 cores and 32 GiB.
pub(super) fn vm(name: &str) -> Request {
    Request { instance: name.into(), ..request(4, 32 * 1024, &[]) }
}

fn with_vms(host: Host, vms: &[&str]) -> Host {
    let count = i64::try_from(vms.len()).unwrap();
    let instances = vms.iter().map(|vm| ((*vm).into(), true)).collect();
    Host { allocation: gib(4 * count, 32 * count).into(), instances, ..host }
}

fn listed(request: Request, hosts: &[&str]) -> Request {
    let hosts = hosts.iter().map(|host| ((*host).into(), 0.0)).collect();
    Request { candidates: Candidates::Listed(hosts), ..request }
}

/// Hosts that the balancing pipeline ranks from the last name to the first.
fn backwards(hosts: &[&str]) -> Vec<Host> {
    let used = (0..).map(|used| gib(0, 8 * used));
    hosts
        .iter()
        .rev()
        .zip(used)
        .map(|(name, used)| Host { allocation: used.into(), ..host(name, gib(20, 160)) })
        .collect()
}

fn hosts(scheduler: &Watched, request: &Request) -> Vec<String> {
    names(&scheduler.answer(&call(request)).unwrap().hosts)
}

fn slot_request(name: &str, size: (u32, u64)) -> Request {
    let request = Request { instance: name.into(), ..request(size.0, size.1 * 1024, &[("quota:hw_version", "g1")]) };
    with_intent(request, Intent::ReserveForCommittedResource)
}

#[test]
fn two_slots_within_5_ms_never_get_the_same_capacity() {
    let scheduler = cloud(&[host("h1", gib(20, 160))], AnswerSettings::default());
    let free = || scheduler.free_capacity(&"h1".into());
    let at = |millis, name| {
        let request = slot_request(name, (16, 128));
        scheduler.answer(&Call { now: Duration::from_millis(millis), ..call(&request) }).unwrap()
    };
    assert_eq!(names(&at(0, "s-0").hosts), ["h1"]);
    assert_eq!((free(), scheduler.claimed()), (Some(gib(4, 32)), 1));
    assert!(at(5, "s-1").hosts.is_empty());
    let seen = Reservation { ready: false, status_host: None, ..slot("s-0", "h1", gib(16, 128), &[]) };
    assert!(scheduler.reservation_changed(&key("s-0"), Some(seen)).is_empty());
    assert_eq!((free(), scheduler.claimed()), (Some(gib(4, 32)), 0));
    assert_eq!(scheduler.verdict(&key("s-0")), crate::HostVerdict::Ok);
}

#[test]
fn the_limit_applies_before_the_answer_is_trimmed() {
    let scheduler = cloud(&backwards(&["a", "b", "c"]), limited());
    let ask = listed(vm("v"), &["a", "b"]);
    assert_eq!(scheduler.run(&ask).unwrap().hosts.len(), 3);
    assert_eq!(hosts(&scheduler, &ask), ["b", "a"]);
    let options = Options { max_candidates: 1, ..Options::default() };
    assert_eq!(hosts(&scheduler, &Request { options, ..ask.clone() }), ["b"]);
    let all = cloud(&backwards(&["a", "b", "c"]), AnswerSettings::default());
    assert_eq!(hosts(&all, &ask), ["c", "b", "a"]);
    assert_eq!(
        hosts(&all, &Request { options: Options { max_candidates: 2, ..Options::default() }, ..ask }),
        ["c", "b"]
    );
}

#[test]
fn only_hosts_of_the_request_each_once() {
    let scheduler = cloud(&backwards(&["a", "b", "d"]), limited());
    assert_eq!(hosts(&scheduler, &listed(vm("v"), &["a", "b", "c", "a"])), ["b", "a"]);
    let only = cloud(&backwards(&["a"]), limited());
    let trimmed = Options { max_candidates: 1, ..Options::default() };
    assert!(hosts(&only, &Request { options: trimmed, ..listed(vm("v"), &["c"]) }).is_empty());
    assert_eq!(only.claimed(), 0);
    assert_eq!(hosts(&only, &vm("v")), ["a"], "a request without a list is not limited");
}

#[test]
fn only_the_head_of_an_evacuation_is_mixed() {
    let settings = AnswerSettings { shuffle_first: 3, ..AnswerSettings::default() };
    let scheduler = cloud(&backwards(&["a", "b", "c", "d", "e"]), settings);
    let orders = |request: &Request| -> BTreeSet<Vec<String>> {
        let answer = |chance| scheduler.answer(&Call { chance, ..call(request) }).unwrap();
        (0..64).map(|chance| names(&answer(chance).hosts)).collect()
    };
    let mixed = orders(&with_intent(vm("v"), Intent::Evacuate));
    assert_eq!(mixed.len(), 6, "every order of the three");
    assert!(mixed.iter().all(|order| order[3..] == ["b", "a"]));
    assert_eq!(orders(&with_intent(vm("v"), Intent::LiveMigration)).len(), 1);
}

#[test]
fn the_shuffle_stays_inside_the_first_tier() {
    let settings = AnswerSettings { shuffle_first: 3, ..AnswerSettings::default() };
    let scheduler = cloud(&backwards(&["a", "b", "c", "d"]), settings);
    for (name, on) in [("f-0", "a"), ("f-1", "b")] {
        let _ = scheduler.reservation_changed(&key(name), Some(failover(name, on, gib(4, 32), &["v"])));
    }
    let request = with_intent(vm("v"), Intent::Evacuate);
    let answer = |chance| scheduler.answer(&Call { chance, ..call(&request) }).unwrap();
    let orders: BTreeSet<Vec<String>> = (0..64).map(|chance| names(&answer(chance).hosts)).collect();
    assert_eq!(orders.len(), 2);
    assert!(orders.iter().all(|order| order[2..] == ["d", "c"]));
    assert_eq!(answer(0).decision.first_tier, 2);
}

#[test]
fn the_same_chance_gives_the_same_order() {
    let settings = AnswerSettings { shuffle_first: 9, ..AnswerSettings::default() };
    let request = with_intent(vm("v"), Intent::Evacuate);
    let order = |chance| {
        let scheduler = cloud(&backwards(&["a", "b", "c", "d", "e"]), settings);
        scheduler.answer(&Call { chance, ..call(&request) }).unwrap().hosts
    };
    assert_eq!(order(7), order(7));
}

#[test]
fn a_claim_is_for_all_instances_and_for_its_own_time() {
    let settings = AnswerSettings {
        slot_ttl: Duration::from_secs(30),
        instance_ttl: Duration::from_secs(600),
        ..AnswerSettings::default()
    };
    let scheduler = cloud(&[host("h", gib(20, 160))], settings);
    let three = Request { instances: 3, ..vm("v") };
    assert_eq!(hosts(&scheduler, &three), ["h"]);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(8, 64)));
    assert_eq!(hosts(&scheduler, &slot_request("s", (8, 64))), ["h"]);
    for (seconds, free) in [(29, gib(0, 0)), (30, gib(8, 64)), (599, gib(8, 64)), (600, gib(20, 160))] {
        assert_eq!(scheduler.expire(Duration::from_secs(seconds)), []);
        assert_eq!(scheduler.free_capacity(&"h".into()), Some(free), "{seconds}");
    }
}

#[test]
fn an_answer_drops_expired_claims_first() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    assert_eq!(names(&scheduler.answer(&at(0, &vm("a"))).unwrap().hosts), ["h"]);
    assert!(scheduler.answer(&at(599, &vm("b"))).unwrap().hosts.is_empty());
    assert_eq!(names(&scheduler.answer(&at(600, &vm("b"))).unwrap().hosts), ["h"]);
}

#[test]
fn a_repeated_request_ignores_its_own_claim_and_replaces_it() {
    let scheduler = cloud(&[host("h", gib(4, 32)), host("i", gib(4, 32))], AnswerSettings::default());
    assert_eq!(hosts(&scheduler, &vm("v")), ["h", "i"]);
    assert_eq!(hosts(&scheduler, &vm("v")), ["h", "i"]);
    assert_eq!(scheduler.claimed(), 1);
    let elsewhere = Request { ignore_hosts: vec!["h".into()], ..vm("v") };
    assert_eq!(hosts(&scheduler, &elsewhere), ["i"], "Nova tries another host");
    assert_eq!(
        (scheduler.free_capacity(&"h".into()), scheduler.free_capacity(&"i".into())),
        (Some(gib(4, 32)), Some(gib(0, 0)))
    );
    let nowhere = Request { ignore_hosts: vec!["h".into(), "i".into()], ..vm("v") };
    assert!(hosts(&scheduler, &nowhere).is_empty());
    assert_eq!((scheduler.claimed(), scheduler.free_capacity(&"i".into())), (0, Some(gib(4, 32))));
}

#[test]
fn a_migration_holds_the_target_until_the_vm_is_there() {
    let scheduler =
        cloud(&[with_vms(host("from", gib(4, 32)), &["v"]), host("to", gib(4, 32))], AnswerSettings::default());
    let source = Hints::for_intent(Intent::LiveMigration).with("source_host", "from");
    assert_eq!(hosts(&scheduler, &Request { hints: source, ..vm("v") }), ["to"]);
    let set = |host: Host| scheduler.host_changed(&host.name.clone(), Some(host));
    assert!(set(with_vms(host("from", gib(4, 32)), &["v"])).is_empty());
    assert!(hosts(&scheduler, &vm("other")).is_empty(), "the source's heartbeat ends nothing");
    assert!(set(with_vms(host("to", gib(4, 32)), &["v"])).is_empty());
    assert_eq!((scheduler.claimed(), scheduler.free_capacity(&"to".into())), (0, Some(Resources::ZERO)));
}

#[test]
fn read_only_calls_change_nothing_and_options_are_checked() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    let probe = Request { options: Options::read_only(), ..vm("v") };
    assert_eq!(hosts(&scheduler, &vm("v")), ["h"]);
    assert_eq!(hosts(&scheduler, &probe), ["h"], "the VM's own claim");
    assert!(hosts(&scheduler, &Request { instance: "other".into(), ..probe.clone() }).is_empty());
    let nowhere = Request { ignore_hosts: vec!["h".into()], ..probe };
    assert!(hosts(&scheduler, &nowhere).is_empty());
    assert_eq!((scheduler.claimed(), scheduler.free_capacity(&"h".into())), (1, Some(Resources::ZERO)));
    let wrong = Request { options: Options { skip_history: false, ..Options::read_only() }, ..vm("v") };
    assert!(matches!(scheduler.answer(&call(&wrong)), Err(SchedulerError::Options(_))));
}

#[test]
fn in_flight_reservations_in_the_ignored_types_hide_claims_too() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    assert_eq!(hosts(&scheduler, &vm("v")), ["h"]);
    let ignored_reservation_types = [ReservationType::InFlight].into();
    let options = Options { ignored_reservation_types, ..Options::read_only() };
    assert_eq!(hosts(&scheduler, &Request { options, ..vm("other") }), ["h"]);
}

#[test]
fn an_own_in_flight_reservation_does_not_block() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    let flight = Reservation { kind: ReservationKind::InFlight("v".into()), ..slot("f", "h", gib(4, 32), &[]) };
    let _ = scheduler.reservation_changed(&key("f"), Some(flight));
    assert!(hosts(&scheduler, &vm("other")).is_empty());
    assert_eq!(hosts(&scheduler, &vm("v")), ["h"]);
}

#[test]
fn a_slot_that_is_placed_anew_is_not_in_its_own_way() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    let elsewhere = SlotKey::new("remote".into(), "s");
    let _ = scheduler.reservation_changed(&elsewhere, Some(slot("s", "h", gib(4, 32), &[])));
    assert!(hosts(&scheduler, &slot_request("t", (4, 32))).is_empty());
    let ask = slot_request("s", (4, 32));
    assert_eq!(hosts(&scheduler, &ask), ["h"]);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(Resources::ZERO), "the same slot, once");
    assert!(matches!(scheduler.explain(&ask).unwrap().hosts[0].outcome, Outcome::Ranked { .. }));
    assert!(hosts(&scheduler, &Request { hints: Hints::default(), ..ask }).is_empty(), "only for slots");
}

#[test]
fn a_failing_filter_is_an_error_for_controllers_and_no_host_for_nova() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    let broken = |intent| with_intent(request(0, 1024, &[]), intent);
    for intent in [Intent::Create, Intent::LiveMigration, Intent::Evacuate, Intent::Resize, Intent::Rebuild] {
        let answer = scheduler.answer(&call(&broken(intent))).unwrap();
        assert!(answer.hosts.is_empty() && answer.decision.failed.is_some(), "{intent}");
    }
    for intent in [
        Intent::ReserveForCommittedResource,
        Intent::ReserveForFailover,
        Intent::ReuseFailoverReservation,
        Intent::CapacityProbe,
    ] {
        let error = scheduler.answer(&call(&broken(intent))).unwrap_err();
        assert_eq!(error.to_string(), "filter_has_enough_capacity failed: flavor has 0 vcpus");
    }
}

#[test]
fn an_explanation_is_made_before_the_claim() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    let options = Options { explain: true, ..Options::default() };
    let Answer { explanation, .. } = scheduler.answer(&call(&Request { options, ..vm("v") })).unwrap();
    assert!(matches!(explanation.unwrap().hosts[0].outcome, Outcome::Ranked { .. }));
    assert_eq!(scheduler.answer(&call(&vm("v"))).unwrap().explanation, None);
}

/// A cloud of one host that a VM fills, and a slot that waits for it.
fn waiting() -> (Watched, SlotRequest) {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    assert_eq!(hosts(&scheduler, &vm("v")), ["h"]);
    let slot = wanted("a", 1, 0, gib(4, 32));
    assert!(matches!(now(scheduler.place(&slot)), Ok(Placed::Nowhere(_))));
    (scheduler, slot)
}

#[test]
fn every_end_of_a_claim_serves_the_waiting_list() {
    let (scheduler, slot) = waiting();
    assert_eq!(scheduler.expire(Duration::from_secs(600)), [slot.key], "the claim has expired");

    let (scheduler, slot) = waiting();
    let answer = scheduler.answer(&at(600, &vm("other"))).unwrap();
    assert_eq!((scheduler.enqueued(), answer.hosts), (vec![slot.key], vec![]), "the slot was first");

    let (scheduler, slot) = waiting();
    let nowhere = Request { ignore_hosts: vec!["h".into()], ..vm("v") };
    assert!(scheduler.answer(&call(&nowhere)).unwrap().hosts.is_empty(), "the request found nothing");
    assert_eq!(scheduler.enqueued(), [slot.key]);

    let (scheduler, slot) = waiting();
    let other = Host { zone: "other".into(), ..host("i", gib(4, 32)) };
    assert!(scheduler.host_changed(&"i".into(), Some(other.clone())).is_empty());
    let moved = scheduler.host_changed(&"i".into(), Some(with_vms(other, &["v"])));
    assert_eq!(moved, [slot.key], "the VM landed on another host");

    let (scheduler, slot) = waiting();
    let named = Reservation { key: key("v"), ..super::slot("v", "elsewhere", gib(4, 32), &[]) };
    assert_eq!(scheduler.reservation_changed(&key("v"), Some(named)), [slot.key], "another client chose the host");

    let (scheduler, slot) = waiting();
    let landed = scheduler.host_changed(&"h".into(), Some(with_vms(host("h", gib(8, 64)), &["v"])));
    assert_eq!(landed, [slot.key], "the VM landed and the host grew");

    let (scheduler, _) = waiting();
    assert!(scheduler.host_changed(&"h".into(), Some(with_vms(host("h", gib(4, 32)), &["v"]))).is_empty());
}

#[test]
fn a_slot_that_is_placed_in_this_process_replaces_what_was_answered_for_it() {
    let scheduler = cloud(&[host("h", gib(4, 32))], AnswerSettings::default());
    let slot = wanted("a", 1, 0, gib(4, 32));
    assert_eq!(hosts(&scheduler, &slot_request("a-0", (4, 32))), ["h"]);
    assert_eq!(now(scheduler.place(&slot)), Ok(Placed::Host("h".into())));
    assert_eq!((scheduler.claimed(), scheduler.free_capacity(&"h".into())), (0, Some(Resources::ZERO)));
}
