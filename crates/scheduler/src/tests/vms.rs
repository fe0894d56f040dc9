//! Slots around VMs: only what their VMs do not occupy already is asked for, so that this works on full hosts.

use proptest::prelude::*;

use super::*;
use crate::{Pin, Placed, Placement};

/// A host on which these VMs run.
fn with_vms(name: &str, capacity: Resources, vms: &[(&str, Resources)]) -> Host {
    Host {
        allocation: vms.iter().map(|(_, size)| *size).sum::<Resources>().into(),
        instances: vms.iter().map(|(vm, _)| ((*vm).into(), true)).collect(),
        ..host(name, capacity)
    }
}

fn pin(name: &str, host: &str, size: Resources, vms: &[(&str, Resources)]) -> Pin {
    let vms = vms.iter().map(|(vm, size)| ((*vm).into(), *size)).collect();
    Pin { key: key(name), host: host.into(), size, vms, zone: "az".into() }
}

#[test]
fn a_slot_around_its_vm_takes_nothing_of_a_full_host() {
    let vm = [("vm", gib(4, 32))];
    let scheduler = built_in(&[with_vms("h", gib(4, 32), &vm)]);
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(4, 32), &[]))), Ok(false));
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(4, 32), &vm))), Ok(true));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(Resources::ZERO));
    let written = slot("s", "h", gib(4, 32), &vm);
    let _ = scheduler.reservation_changed(&written.key.clone(), Some(written));
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h".into())), (0, Some(Resources::ZERO)));
}

#[test]
fn what_the_vm_does_not_occupy_must_be_free() {
    let vm = [("vm", gib(4, 32))];
    let scheduler = built_in(&[with_vms("h", gib(6, 48), &vm)]);
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(8, 64), &vm))), Ok(false));
    assert_eq!(scheduler.assumed(), 0);
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(6, 48), &vm))), Ok(true));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(Resources::ZERO));
}

#[test]
fn a_vm_that_has_not_arrived_is_no_reason_to_ask_for_less() {
    let scheduler = built_in(&[host("h", gib(4, 32)), with_vms("other", gib(4, 32), &[("vm", gib(4, 32))])]);
    let slot = pin("s", "h", gib(4, 32), &[("vm", gib(4, 32))]);
    assert_eq!(now(scheduler.pin(&slot)), Ok(true));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(Resources::ZERO));
}

/// Nova's own choice has over-booked the host: the slot was unlocked for its project.
#[test]
fn a_slot_adopts_a_vm_on_a_host_that_the_vm_has_over_booked() {
    let vm = [("vm", gib(4, 32))];
    let scheduler = built_in(&[with_vms("h", gib(6, 48), &vm)]);
    let empty = slot("s", "h", gib(4, 32), &[]);
    let _ = scheduler.reservation_changed(&empty.key, Some(empty.clone()));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(-2, -16)));
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(4, 32), &vm))), Ok(true));
    assert_eq!(scheduler.free_capacity(&"h".into()), Some(gib(-2, -16)), "until the object shows it");
    assert_eq!(now(scheduler.pin(&pin("t", "h", gib(1, 1), &[("other", gib(1, 1))]))), Ok(false));
    let adopted = slot("s", "h", gib(4, 32), &vm);
    let _ = scheduler.reservation_changed(&adopted.key.clone(), Some(adopted));
    assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h".into())), (0, Some(gib(2, 16))));
}

#[test]
fn an_adoption_that_is_not_written_yet_frees_nothing_for_others() {
    let vm = [("vm", gib(4, 32))];
    let scheduler = built_in(&[with_vms("h", gib(8, 64), &vm)]);
    let empty = slot("s", "h", gib(4, 32), &[]);
    let _ = scheduler.reservation_changed(&empty.key, Some(empty.clone()));
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(4, 32), &vm))), Ok(true));
    assert!(matches!(now(scheduler.place(&wanted("c", 1, 0, gib(4, 32)))), Ok(Placed::Nowhere(_))));
    assert_eq!(now(scheduler.pin(&pin("t", "h", gib(1, 8), &[]))), Ok(false));
}

#[test]
fn a_vm_is_given_to_one_slot_only() {
    let vm = [("vm", gib(4, 32))];
    let scheduler = built_in(&[with_vms("h", gib(64, 512), &vm)]);
    let (first, second) = (pin("s", "h", gib(4, 32), &vm), pin("t", "h", gib(4, 32), &vm));
    assert_eq!(now(scheduler.pin(&first)), Ok(true));
    assert_eq!(now(scheduler.pin(&second)), Ok(false), "it is promised to the first");
    scheduler.in_doubt(&first.key);
    assert_eq!(now(scheduler.pin(&second)), Ok(false), "the first may exist");
    scheduler.settled(&first.key);
    let _ = scheduler.reservation_changed(&key("u"), Some(slot("u", "", gib(4, 32), &vm)));
    assert_eq!(now(scheduler.pin(&second)), Ok(false), "another one expects it");
    let _ = scheduler.reservation_changed(&key("u"), None);
    assert_eq!(now(scheduler.pin(&second)), Ok(true));
}

#[test]
fn a_pin_in_doubt_can_only_be_repeated_with_its_vms() {
    let vms = [("a", gib(2, 16)), ("b", gib(2, 16))];
    let scheduler = built_in(&[with_vms("h", gib(4, 32), &vms)]);
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(4, 32), &vms))), Ok(true));
    scheduler.in_doubt(&key("s"));
    let other = now(scheduler.pin(&pin("s", "h", gib(4, 32), &vms[..1])));
    assert!(matches!(other, Err(SchedulerError::InDoubt { .. })), "it may have been written with both");
    assert_eq!(now(scheduler.pin(&pin("s", "h", gib(4, 32), &vms))), Ok(true));
    assert_eq!((scheduler.free_capacity(&"h".into()), scheduler.doubts().len()), (Some(Resources::ZERO), 1));
}

#[test]
fn a_slot_that_is_placed_finds_the_full_host_of_its_vms() {
    let vm = [("vm", gib(4, 32))];
    let scheduler = built_in(&[with_vms("full", gib(4, 32), &vm), host("small", gib(1, 8))]);
    let vms: BTreeMap<VmId, Resources> = vm.iter().map(|(vm, size)| ((*vm).into(), *size)).collect();
    let plain = wanted("c", 1, 0, gib(4, 32));
    let whole = request_of(vec![plain.clone(), SlotRequest { vms, ..wanted("c", 1, 1, gib(4, 32)) }], false);
    let Ok(Placement::Decided { hosts, .. }) = now(scheduler.place_all(&whole)) else { unreachable!() };
    assert_eq!(hosts, [None, Some("full".into())], "the first one has no VM there");
    assert_eq!(scheduler.free_capacity(&"full".into()), Some(Resources::ZERO));
    scheduler.applied(&[key("c-1")]);

    let object =
        Reservation { target_host: None, status_host: None, ready: false, ..slot("c-0", "x", gib(4, 32), &vm) };
    let _ = scheduler.reservation_changed(&object.key.clone(), Some(object));
    assert_eq!(now(scheduler.place(&plain)), Ok(Placed::Host("full".into())), "its object expects the VM");
    assert_eq!(scheduler.free_capacity(&"full".into()), Some(Resources::ZERO));
}

#[test]
fn the_vms_of_an_older_request_do_not_count_once_the_object_exists() {
    let vm = [("vm", gib(4, 32))];
    let scheduler = built_in(&[with_vms("h", gib(4, 32), &vm)]);
    let vms = vm.iter().map(|(vm, size)| ((*vm).into(), *size)).collect();
    let request = SlotRequest { vms, ..wanted("c", 1, 0, gib(4, 32)) };
    let _ = scheduler.reservation_changed(&request.key, Some(unplaced(&request)));
    assert!(matches!(now(scheduler.place(&request)), Ok(Placed::Nowhere(_))));
}

fn any_size() -> impl Strategy<Value = Resources> {
    (1_i64..5, 1_i64..5).prop_map(|(cpu, memory)| gib(cpu, memory))
}

#[derive(Clone, Debug)]
enum Event {
    /// A slot is created around a VM, or one that exists adopts it; the write succeeds, fails or is in doubt.
    Pin(usize, usize, Resources, Write),
    Place(usize, Resources),
    Delete(usize),
}

#[derive(Clone, Copy, Debug)]
enum Write {
    Done,
    Failed,
    Unknown,
}

fn any_event() -> impl Strategy<Value = Event> {
    let write = prop_oneof![3 => Just(Write::Done), 1 => Just(Write::Failed), 1 => Just(Write::Unknown)];
    prop_oneof![
        5 => (0_usize..4, 0_usize..5, any_size(), write).prop_map(|(s, vm, size, write)| Event::Pin(s, vm, size, write)),
        2 => (0_usize..4, any_size()).prop_map(|(number, size)| Event::Place(number, size)),
        1 => (0_usize..4).prop_map(Event::Delete),
    ]
}

proptest! {
    #[test]
    fn a_slot_that_is_created_around_vms_never_over_books_its_host(
        capacity in any_size(),
        sizes in prop::collection::vec(any_size(), 5),
        running in prop::collection::btree_set(0_usize..5, 0..4),
        events in prop::collection::vec(any_event(), 1..25),
    ) {
        let names = ["v0", "v1", "v2", "v3", "v4"];
        let vms: Vec<_> = running.iter().map(|vm| (names[*vm], sizes[*vm])).collect();
        let scheduler = built_in(&[with_vms("h", capacity + capacity, &vms)]);
        let free = || scheduler.free_capacity(&"h".into()).unwrap();
        let least = |free: Resources| Resources::new(free.memory.min(Bytes::ZERO), free.cpu.min(Cores::ZERO));
        let mut objects: BTreeMap<SlotKey, Reservation> = BTreeMap::new();
        let start = least(free());
        for event in events {
            match event {
                Event::Pin(number, vm, size, write) => {
                    let name = format!("s{number}");
                    let known = objects.get(&key(&name)).cloned();
                    let size = known.as_ref().map_or(size, |slot| slot.size);
                    let pin = pin(&name, "h", size, &[(names[vm], sizes[vm])]);
                    let before = free();
                    if now(scheduler.pin(&pin)) != Ok(true) {
                        continue;
                    }
                    prop_assert!(least(before).fits(free()), "{} after {}", free(), before);
                    let mut object = known.unwrap_or_else(|| slot(&name, "h", size, &[]));
                    if let ReservationKind::Committed(expected) = &mut object.kind {
                        expected.entry(names[vm].into()).or_insert(sizes[vm]);
                    }
                    match write {
                        Write::Done => {
                            let _ = scheduler.reservation_changed(&object.key, Some(object.clone()));
                            objects.insert(object.key.clone(), object);
                        }
                        Write::Failed => {}
                        Write::Unknown => scheduler.in_doubt(&pin.key),
                    }
                    scheduler.applied(&[pin.key]);
                }
                Event::Place(number, size) => {
                    let request = wanted("c", 1, u64::try_from(number).unwrap(), size);
                    if let (false, Ok(Placed::Host(_))) =
                        (objects.contains_key(&request.key), now(scheduler.place(&request)))
                    {
                        let object = Reservation { ready: true, ..placed(&request, "h") };
                        let _ = scheduler.reservation_changed(&request.key, Some(object.clone()));
                        objects.insert(request.key.clone(), object);
                    }
                    scheduler.applied(&[request.key]);
                }
                Event::Delete(number) => {
                    for name in [format!("s{number}"), format!("c-{number}")] {
                        objects.remove(&key(&name));
                        let _ = scheduler.reservation_changed(&key(&name), None);
                    }
                }
            }
            prop_assert!(start.fits(free()), "nothing is over-booked by us: {}", free());
            prop_assert_eq!(scheduler.drift(), Vec::<HostName>::new());
            let mut expected: Vec<_> = objects.values().flat_map(Reservation::expected).map(|(vm, _)| vm).collect();
            expected.sort();
            prop_assert!(expected.windows(2).all(|pair| pair[0] != pair[1]), "a VM is in two slots");
        }
    }
}
