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
    Occupant { key, size, block: size, empty: true, leaving: false, is_paused: false }
}

/// The host of the first example: 300/80 with VMs of 150/36, slots s1 to s3 and a failover block of 24/6.
fn facts() -> OversubscriptionFacts {
    let slots = vec![slot("s1", 96, 24), slot("s2", 48, 12), slot("s3", 48, 8)];
    OversubscriptionFacts { ready: true, free: gib(-66, -6).into(), slots }
}

fn after(minutes: u64, facts: &OversubscriptionFacts, settings: &Settings) -> OversubscriptionStep {
    plan(facts, Duration::from_secs(60 * minutes), settings).step
}

#[test]
fn with_ties_the_oldest_slot_leaves() {
    let wait = plan(&facts(), Duration::ZERO, &SETTINGS);
    assert_eq!((wait.excess.memory.get(), wait.excess.cpu.get()), (70_866_960_384, 6));
    assert_eq!(wait.step, OversubscriptionStep::Wait(SETTINGS.grace));
    assert_eq!(after(2, &facts(), &SETTINGS), OversubscriptionStep::Wait(Duration::from_secs(60)));
    assert_eq!(
        after(3, &facts(), &SETTINGS),
        OversubscriptionStep::Evict(vec![slot("s1", 0, 0).key]),
        "not s3 and later s2"
    );
    let resolved = OversubscriptionFacts { free: gib(30, 18).into(), slots: Vec::new(), ..facts() };
    assert_eq!(
        plan(&resolved, Duration::ZERO, &SETTINGS),
        OversubscriptionPlan { excess: gib(0, 0), step: OversubscriptionStep::Nothing }
    );
}

#[test]
fn no_slot_leaves_unless_that_is_configured_and_helps() {
    let counting = Settings { evict: false, ..SETTINGS };
    assert_eq!(after(3, &facts(), &counting), OversubscriptionStep::Stuck(Stuck::Disabled));
    assert_eq!(after(1, &facts(), &counting), OversubscriptionStep::Wait(Duration::from_secs(120)));
    let vms_only = OversubscriptionFacts { slots: Vec::new(), ..facts() };
    assert_eq!(after(3, &vms_only, &SETTINGS), OversubscriptionStep::Stuck(Stuck::NoSlotHelps));
    let occupied = OversubscriptionFacts { slots: vec![Occupant { empty: false, ..slot("s1", 96, 24) }], ..facts() };
    assert_eq!(after(3, &occupied, &SETTINGS), OversubscriptionStep::Stuck(Stuck::NoSlotHelps));
    let also_occupied = Settings { evict_occupied: true, ..SETTINGS };
    assert_eq!(after(3, &occupied, &also_occupied), OversubscriptionStep::Evict(vec![slot("s1", 0, 0).key]));
}

#[test]
fn slots_that_are_leaving_count_before_others_are_evicted() {
    let leaving = Occupant { leaving: true, ..slot("s1", 96, 24) };
    let mut facts = OversubscriptionFacts { slots: vec![leaving, slot("s2", 48, 12), slot("s3", 48, 8)], ..facts() };
    assert_eq!(after(3, &facts, &SETTINGS), OversubscriptionStep::Wait(SETTINGS.interval));
    facts.free = gib(-97, -6).into();
    assert_eq!(after(3, &facts, &SETTINGS), OversubscriptionStep::Evict(vec![slot("s3", 0, 0).key]), "1 GiB is left");
}

#[test]
fn a_host_that_is_not_ready_or_reports_nothing_of_its_capacity_is_never_over_booked() {
    for facts in [
        OversubscriptionFacts { ready: false, ..facts() },
        OversubscriptionFacts { free: Amounts::default(), ..facts() },
    ] {
        assert_eq!(
            plan(&facts, SETTINGS.grace, &SETTINGS),
            OversubscriptionPlan { excess: gib(0, 0), step: OversubscriptionStep::Nothing }
        );
    }
    let memory_unknown = OversubscriptionFacts { free: Amounts { memory: None, cpu: Some(Cores::new(-6)) }, ..facts() };
    assert_eq!(memory_unknown.excess(), gib(0, 6), "only the resources of the capacity");
}
