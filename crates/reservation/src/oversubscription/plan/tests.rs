use berth_core::host::Amounts;
use berth_core::{Bytes, ClusterName, Cores};

use super::super::facts::Occupant;
use super::*;

const SETTINGS: Settings =
    Settings { grace: Duration::from_secs(180), interval: Duration::from_secs(60), evict: true, evict_occupied: false };

fn gib(gib: i64, cpu: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

fn slot(name: &str, memory: i64, cpu: i64) -> Occupant {
    let (key, size) = (SlotKey::new(ClusterName::home(), name), gib(memory, cpu));
    Occupant { key, size, block: size, empty: true, leaving: false, frozen: false }
}

/// The host of the first example: 300/80 with VMs of 150/36, slots s1 to s3 and a failover block of 24/6.
fn facts() -> Facts {
    let slots = vec![slot("s1", 96, 24), slot("s2", 48, 12), slot("s3", 48, 8)];
    Facts { ready: true, free: gib(-66, -6).into(), slots }
}

fn after(minutes: u64, facts: &Facts, settings: &Settings) -> Step {
    plan(facts, Duration::from_secs(60 * minutes), settings).step
}

#[test]
fn document_21_section_10_first_example_by_time_with_section_15_no_12() {
    let wait = plan(&facts(), Duration::ZERO, &SETTINGS);
    assert_eq!((wait.excess.memory.get(), wait.excess.cpu.get()), (70_866_960_384, 6));
    assert_eq!(wait.step, Step::Wait(SETTINGS.grace));
    assert_eq!(after(2, &facts(), &SETTINGS), Step::Wait(Duration::from_secs(60)));
    assert_eq!(after(3, &facts(), &SETTINGS), Step::Evict(vec![slot("s1", 0, 0).key]), "not s3 and later s2");
    let resolved = Facts { free: gib(30, 18).into(), slots: Vec::new(), ..facts() };
    assert_eq!(plan(&resolved, Duration::ZERO, &SETTINGS), Plan { excess: gib(0, 0), step: Step::Nothing });
}

#[test]
fn nobody_leaves_unless_that_is_configured_and_helps() {
    let counting = Settings { evict: false, ..SETTINGS };
    assert_eq!(after(3, &facts(), &counting), Step::Stuck(Stuck::Disabled));
    assert_eq!(after(1, &facts(), &counting), Step::Wait(Duration::from_secs(120)));
    let vms_only = Facts { slots: Vec::new(), ..facts() };
    assert_eq!(after(3, &vms_only, &SETTINGS), Step::Stuck(Stuck::NoSlotHelps));
    let occupied = Facts { slots: vec![Occupant { empty: false, ..slot("s1", 96, 24) }], ..facts() };
    assert_eq!(after(3, &occupied, &SETTINGS), Step::Stuck(Stuck::NoSlotHelps));
    let also_occupied = Settings { evict_occupied: true, ..SETTINGS };
    assert_eq!(after(3, &occupied, &also_occupied), Step::Evict(vec![slot("s1", 0, 0).key]));
}

#[test]
fn what_slots_on_their_way_elsewhere_free_by_themselves_nobody_else_has_to() {
    let leaving = Occupant { leaving: true, ..slot("s1", 96, 24) };
    let mut facts = Facts { slots: vec![leaving, slot("s2", 48, 12), slot("s3", 48, 8)], ..facts() };
    assert_eq!(after(3, &facts, &SETTINGS), Step::Wait(SETTINGS.interval));
    facts.free = gib(-97, -6).into();
    assert_eq!(after(3, &facts, &SETTINGS), Step::Evict(vec![slot("s3", 0, 0).key]), "1 GiB is left");
}

#[test]
fn a_host_that_is_not_ready_or_says_nothing_of_its_capacity_is_never_over_booked() {
    for facts in [Facts { ready: false, ..facts() }, Facts { free: Amounts::default(), ..facts() }] {
        assert_eq!(plan(&facts, SETTINGS.grace, &SETTINGS), Plan { excess: gib(0, 0), step: Step::Nothing });
    }
    let memory_unknown = Facts { free: Amounts { memory: None, cpu: Some(Cores::new(-6)) }, ..facts() };
    assert_eq!(memory_unknown.excess(), gib(0, 6), "document 21 section 9.3: only what the capacity names");
}
