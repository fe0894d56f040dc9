//! VMs that are booked into slots of their project.

use super::answers::call;
use super::*;
use crate::{Answer, AnswerSettings, Booking, Call, Commitments, Guest, Options, Scheduler};

/// A VM of project p1 and group g1.
fn vm(name: &str, cpu: u32, memory: u64) -> Request {
    let request = request(cpu, memory * 1024, &[("quota:hw_version", "g1")]);
    Request { instance: name.into(), project: "p1".into(), ..request }
}

fn guest(cpu: i64, memory: i64) -> Guest {
    Guest { group: "g1".into(), size: gib(cpu, memory), commitments: Commitments::Left }
}

fn answer(scheduler: &Watched, request: &Request) -> Answer {
    let guest = Guest { group: "g1".into(), size: request.size, commitments: Commitments::Left };
    scheduler.answer(&Call { guest: Some(&guest), ..call(request) }).unwrap()
}

fn booked(scheduler: &Watched, request: &Request) -> Option<String> {
    answer(scheduler, request).booking.map(|booking| booking.slot.name.to_string())
}

fn set(scheduler: &Watched, slot: Reservation) {
    let _ = scheduler.reservation_changed(&slot.key.clone(), Some(slot));
}

/// Hosts of 32/256 with slots.
fn cloud(hosts: &[&str], slots: &[Reservation]) -> Watched {
    let hosts: Vec<Host> = hosts.iter().map(|name| host(name, gib(32, 256))).collect();
    let scheduler = built_in(&hosts);
    for slot in slots {
        set(&scheduler, slot.clone());
    }
    scheduler
}

fn only(host: &str, request: Request) -> Request {
    Request { force_hosts: vec![host.into()], ..request }
}

#[test]
fn the_slot_is_that_of_the_first_host() {
    let partly = slot("s", "b", gib(4, 32), &[("old", gib(1, 8))]);
    let scheduler = cloud(&["a", "b"], &[partly]);
    let ask = vm("v", 2, 16);
    assert_eq!(booked(&scheduler, &only("a", ask.clone())), None, "host a has no slot");
    let Answer { hosts, booking, .. } = answer(&scheduler, &only("b", ask));
    assert_eq!(names(&hosts), ["b"]);
    let expected = Booking { vm: "v".into(), size: gib(2, 16), slot: key("s"), leaves: vec![] };
    assert_eq!(booking, Some(expected));
}

#[test]
fn the_best_cover_then_the_tightest_then_the_first_name() {
    for (slots, expected) in [
        (vec![("x", 24), ("y", 16), ("z", 12)], "y"),
        (vec![("x", 12), ("y", 10)], "x"),
        (vec![("slot-b", 24), ("slot-a", 24)], "slot-a"),
    ] {
        let slots: Vec<Reservation> = slots.iter().map(|(name, left)| slot(name, "h", gib(4, *left), &[])).collect();
        let scheduler = cloud(&["h"], &slots);
        assert_eq!(booked(&scheduler, &vm("v", 1, 16)).as_deref(), Some(expected));
    }
}

#[test]
fn only_ready_slots_of_the_project_and_group_take_a_vm() {
    let slots = [
        Reservation { project: "p2".into(), ..slot("a", "h", gib(4, 32), &[]) },
        Reservation { group: "g2".into(), ..slot("b", "h", gib(4, 32), &[]) },
        Reservation { ready: false, ..slot("c", "h", gib(4, 32), &[]) },
        slot("d", "h", gib(4, 32), &[("old", gib(4, 32))]),
        slot("e", "elsewhere", gib(4, 32), &[]),
        failover("f", "h", gib(4, 32), &[]),
    ];
    let scheduler = cloud(&["h"], &slots);
    assert_eq!(booked(&scheduler, &vm("v", 1, 8)), None);
    assert_eq!(
        scheduler.free_capacity(&"h".into()),
        Some(gib(32 - 5 * 4 - 1, 256 - 5 * 32 - 8)),
        "it counts in addition"
    );
}

/// A slot whose VM counts in another slot blocks its full size and has its full size to give.
#[test]
fn a_vm_that_is_expected_in_two_slots_of_its_host_takes_capacity_in_the_first() {
    let twice = [("old", gib(4, 32))];
    let scheduler = cloud(&[], &[slot("a", "h", gib(4, 32), &twice), slot("b", "h", gib(4, 32), &twice)]);
    let full =
        Host { instances: [("old".into(), true)].into(), allocation: gib(4, 32).into(), ..host("h", gib(8, 64)) };
    let _ = scheduler.host_changed(&"h".into(), Some(full));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(Resources::ZERO));
    assert_eq!(booked(&scheduler, &vm("v", 4, 32)).as_deref(), Some("b"));
    assert_eq!(
        scheduler.free_capacity(&"h".into()),
        Some(Resources::ZERO),
        "the VM counts in the slot, not in addition"
    );
}

#[test]
fn the_project_is_that_of_the_vm() {
    let scheduler = cloud(&["h"], &[slot("s", "h", gib(4, 32), &[])]);
    assert_eq!(booked(&scheduler, &Request { project: "admin".into(), ..vm("v", 1, 8) }), None);
    assert_eq!(booked(&scheduler, &vm("v", 1, 8)).as_deref(), Some("s"));
}

#[test]
fn the_slot_is_booked_on_the_first_host_of_the_answer() {
    let settings = AnswerSettings { limit_to_request: true, shuffle_first: 2, ..AnswerSettings::default() };
    let hosts = ["a", "b", "c"].map(|name| host(name, gib(32, 256)));
    let slots = ["a", "b", "c"].map(|name| slot(&format!("on-{name}"), name, gib(4, 32), &[]));
    let mut chosen = BTreeSet::new();
    for chance in 0..16 {
        let scheduler = super::answers::cloud(&hosts, settings);
        for slot in &slots {
            set(&scheduler, slot.clone());
        }
        let request = with_intent(vm("v", 1, 8), Intent::Evacuate);
        let candidates = crate::Candidates::Listed(["b", "c"].map(|host| (host.into(), 0.0)).to_vec());
        let request = Request { candidates, ..request };
        let guest = guest(1, 8);
        let answer = scheduler.answer(&Call { guest: Some(&guest), chance, ..call(&request) }).unwrap();
        let first = answer.hosts[0].clone();
        assert_eq!(answer.booking.unwrap().slot.name.as_str(), format!("on-{first}"));
        chosen.insert(first.to_string());
    }
    assert_eq!(chosen, ["b".to_owned(), "c".to_owned()].into(), "a is never in the answer");
}

#[test]
fn nothing_is_booked_for_an_empty_answer_or_when_the_request_reports_it() {
    let scheduler = cloud(&["h"], &[slot("s", "h", gib(4, 32), &[])]);
    assert_eq!(booked(&scheduler, &vm("huge", 64, 8)), None);
    let options = Options { skip_committed_resource_tracking: true, ..Options::default() };
    assert_eq!(booked(&scheduler, &Request { options, ..vm("v", 1, 8) }), None);
    assert_eq!(booked(&scheduler, &Request { options: Options::read_only(), ..vm("v", 1, 8) }), None);
    assert_eq!(scheduler.answer(&call(&vm("v", 1, 8))).unwrap().booking, None, "the request has no guest");
}

#[test]
fn several_instances_are_not_booked() {
    let scheduler = cloud(&["h"], &[slot("s", "h", gib(4, 32), &[])]);
    assert_eq!(booked(&scheduler, &Request { instances: 2, ..vm("v", 1, 8) }), None);
    assert_eq!(booked(&scheduler, &Request { instances: 0, ..vm("w", 1, 8) }).as_deref(), Some("s"), "0 is 1");
}

#[test]
fn two_creations_in_a_row_never_use_the_same_bytes() {
    let scheduler = built_in(&[host("h", gib(8, 64))]);
    set(&scheduler, slot("s", "h", gib(8, 64), &[]));
    let (first, second) = (vm("a", 4, 32), vm("b", 8, 64));
    assert_eq!(booked(&scheduler, &first).as_deref(), Some("s"));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(0, 0)), "the slot covers it");
    assert!(answer(&scheduler, &second).hosts.is_empty(), "4/32 are left, before the slot shows the first");
    set(&scheduler, slot("s", "h", gib(8, 64), &[("a", gib(4, 32))]));
    assert!(answer(&scheduler, &second).hosts.is_empty(), "and after");
    assert_eq!(names(&answer(&scheduler, &first).hosts), ["h"], "the request for VM a itself passes");
    assert_eq!(booked(&scheduler, &vm("c", 4, 32)).as_deref(), Some("s"), "the rest of the slot");
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(0, 0)));
}

#[test]
fn a_slot_that_is_booked_full_is_not_picked_again() {
    let scheduler = cloud(&["h"], &[slot("a", "h", gib(4, 32), &[]), slot("b", "h", gib(8, 64), &[])]);
    assert_eq!(booked(&scheduler, &vm("v", 4, 32)).as_deref(), Some("a"));
    assert_eq!(booked(&scheduler, &vm("w", 4, 32)).as_deref(), Some("b"));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(20, 160)));
}

#[test]
fn a_vm_that_a_slot_of_the_host_expects_is_not_booked_again_and_does_not_count_twice() {
    let scheduler = cloud(&["h"], &[slot("a", "h", gib(4, 32), &[("v", gib(4, 32))]), slot("b", "h", gib(4, 32), &[])]);
    assert_eq!(booked(&scheduler, &vm("v", 4, 32)), None);
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(24, 192)));
}

#[test]
fn a_repeated_request_never_books_a_vm_twice() {
    let slots = [slot("a", "h", gib(4, 32), &[]), slot("b", "h", gib(4, 32), &[]), slot("c", "i", gib(4, 32), &[])];
    let scheduler = cloud(&["h", "i"], &slots);
    assert_eq!(booked(&scheduler, &only("h", vm("v", 4, 32))).as_deref(), Some("a"));
    set(&scheduler, slot("c", "h", gib(4, 1), &[]));
    assert_eq!(
        booked(&scheduler, &only("h", vm("v", 4, 32))).as_deref(),
        Some("a"),
        "while the first is being written"
    );
    set(&scheduler, slot("c", "i", gib(4, 32), &[]));
    let elsewhere = answer(&scheduler, &only("i", vm("v", 4, 32))).booking.unwrap();
    assert_eq!((elsewhere.slot, elsewhere.leaves), (key("c"), vec![key("a")]), "the first may still be written");
}

#[test]
fn a_vm_leaves_slots_elsewhere_that_expect_it_in_vain() {
    let expecting = |name, host| slot(name, host, gib(4, 32), &[("v", gib(4, 32))]);
    let slots = [expecting("gone", "i"), expecting("there", "j"), slot("new", "h", gib(4, 32), &[])];
    let scheduler = cloud(&["h", "i"], &slots);
    let source = Host { instances: [("v".into(), true)].into(), ..host("j", gib(32, 256)) };
    let _ = scheduler.host_changed(&"j".into(), Some(source));
    let booking = answer(&scheduler, &only("h", vm("v", 4, 32))).booking.unwrap();
    assert_eq!(
        (booking.slot, booking.leaves),
        (key("new"), vec![key("gone")]),
        "the slot on the source host keeps the VM"
    );
}

#[test]
fn what_is_not_written_counts_besides_the_slot() {
    let scheduler = cloud(&["h"], &[slot("s", "h", gib(4, 32), &[])]);
    assert_eq!(booked(&scheduler, &vm("v", 4, 32)).as_deref(), Some("s"));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(28, 224)));
    scheduler.unbook(&"v".into());
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(24, 192)));
}

#[test]
fn only_what_the_slot_does_not_cover_is_taken_from_the_host() {
    let scheduler = cloud(&["h"], &[slot("s", "h", gib(8, 64), &[("old", gib(4, 48))])]);
    assert_eq!(booked(&scheduler, &vm("v", 6, 40)).as_deref(), Some("s"));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(22, 168)), "2 cores and 24 GiB more than 8/64");
}

#[test]
fn a_vm_without_capacity_on_its_host_is_booked_into_no_slot() {
    let mut settings = Settings { tie_break: TieBreak::Name, ..Settings::default() };
    let spec = crate::PipelineSpec { name: "anything".to_owned(), ..crate::PipelineSpec::default() };
    settings.pipelines.insert(crate::Pipeline::load(&spec).pipeline.unwrap());
    let scheduler = Watched::new(settings);
    let _ = scheduler.host_changed(&"h".into(), Some(host("h", gib(32, 256))));
    set(&scheduler, slot("s", "h", gib(4, 32), &[]));
    let ask = |name, cpu, memory| Request { pipeline: "anything".to_owned(), ..vm(name, cpu, memory) };
    assert_eq!(booked(&scheduler, &ask("invented", 64, 4096)), None);
    assert_eq!(scheduler.claimed(), 1);
    let _ = scheduler.expire(Duration::from_secs(600));
    assert_eq!(booked(&scheduler, &ask("exact", 32, 256)).as_deref(), Some("s"), "the slot and all other capacity");
    let _ = scheduler.expire(Duration::from_secs(600));
    // A VM that fits into the slot takes nothing besides it, however full the host is.
    let full = Host { allocation: gib(32, 256).into(), ..host("h", gib(32, 256)) };
    let _ = scheduler.host_changed(&"h".into(), Some(full));
    assert_eq!(booked(&scheduler, &ask("larger", 5, 40)), None);
    assert_eq!(booked(&scheduler, &ask("fits", 4, 32)).as_deref(), Some("s"));
}
