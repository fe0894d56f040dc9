use berth_core::{Bytes, ClusterName, Cores};
use proptest::prelude::*;

use super::*;

fn gib(gib: i64, cpu: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

fn empty(name: &str, memory: i64, cpu: i64) -> Occupant {
    let size = gib(memory, cpu);
    Occupant {
        key: SlotKey::new(ClusterName::home(), name),
        size,
        block: size,
        empty: true,
        leaving: false,
        is_paused: false,
    }
}

/// A slot with VMs that leave this much of it unused.
fn full(name: &str, size: Resources, unused: Resources) -> Occupant {
    Occupant { size, block: unused, empty: false, ..empty(name, 0, 0) }
}

fn chosen(excess: Resources, slots: &[Occupant], occupied: bool) -> Vec<&str> {
    choose(excess, slots, occupied).into_iter().map(|slot| slot.key.name.as_str()).collect()
}

/// The slots of the first example; the reference evicts s3 and, a grace period later, s2 (both the smallest).
fn example() -> [Occupant; 3] {
    [empty("s1", 96, 24), empty("s2", 48, 12), empty("s3", 48, 8)]
}

#[test]
fn one_slot_that_is_enough_alone_leaves() {
    assert_eq!(chosen(gib(66, 6), &example(), false), ["s1"]);
}

#[test]
fn several_slots_leave_only_where_that_is_configured() {
    let slots = [
        full("p", gib(200, 50), gib(140, 20)),
        full("q", gib(100, 20), gib(75, 18)),
        full("r", gib(80, 40), gib(60, 36)),
    ];
    assert_eq!(chosen(gib(10, 0), &slots, true), ["r"], "buckets 7/4, 7/9 and 7/9; r is smaller than q");
    assert_eq!(chosen(gib(10, 0), &slots, false), [""; 0]);
    assert_eq!(chosen(gib(130, 0), &slots, true), ["r", "q"], "as many as needed in one reconciliation");
    assert_eq!(chosen(gib(70, 0), &slots, true), ["q"], "r was chosen first, and is not needed any more");
    assert_eq!(chosen(gib(210, 0), &slots, true), ["q", "p"]);
}

#[test]
fn of_the_empty_slots_that_are_enough_the_smallest_leaves_and_ties_go_by_name() {
    let slots = [empty("large", 96, 24), empty("b", 48, 12), empty("a", 48, 12), empty("tiny", 8, 1)];
    assert_eq!(chosen(gib(40, 12), &slots, false), ["a"]);
    assert_eq!(chosen(gib(40, 13), &slots, false), ["large"], "both resources have to be enough");
    assert_eq!(chosen(gib(8, 1), &slots, false), ["tiny"]);
}

#[test]
fn what_is_not_enough_alone_leaves_together_and_nothing_that_is_not_needed() {
    assert_eq!(chosen(gib(140, 6), &example(), false), ["s1", "s3"], "the most helpful slot, then one that is enough");
    assert_eq!(
        chosen(gib(400, 0), &example(), false),
        ["s1", "s3", "s2"],
        "VMs remain over-booked: it helps all the same"
    );
    let slots = [empty("a", 60, 1), empty("b", 50, 9), empty("c", 50, 9)];
    assert_eq!(chosen(gib(100, 18), &slots, false), ["b", "c"], "a helped most at first");
}

#[test]
fn a_slot_helps_only_with_what_is_violated_and_where_it_stays() {
    let cores_only = [empty("memory", 48, 0), empty("cores", 0, 8)];
    assert_eq!(chosen(gib(0, 2), &cores_only, false), ["cores"]);
    assert_eq!(chosen(gib(2, 0), &cores_only, false), ["memory"]);
    let leaving = Occupant { leaving: true, ..empty("leaving", 96, 24) };
    let paused = Occupant { is_paused: true, ..empty("paused", 96, 24) };
    assert_eq!(chosen(gib(1, 1), &[leaving, paused], true), [""; 0]);
    assert_eq!(chosen(gib(1, 1), &[full("used up", gib(48, 8), gib(0, 0))], true), [""; 0]);
}

#[test]
fn occupied_slots_leave_only_when_the_empty_ones_are_not_enough() {
    let slots = [full("used", gib(96, 24), gib(90, 20)), empty("empty", 48, 12)];
    assert_eq!(chosen(gib(40, 0), &slots, true), ["empty"]);
    assert_eq!(chosen(gib(60, 0), &slots, false), ["empty"]);
    assert_eq!(chosen(gib(100, 0), &slots, true), ["empty", "used"]);
    assert_eq!(chosen(gib(60, 0), &slots, true), ["used"], "then the empty slot is not needed");
}

fn any_slot() -> impl Strategy<Value = Occupant> {
    (0..9_i64, 0..9_i64, 0..=10_i64, any::<bool>(), prop::bool::weighted(0.1)).prop_map(|(memory, cpu, part, e, l)| {
        let size = gib(memory, cpu);
        let block = if e { size } else { gib(memory * part / 10, cpu * part / 10) };
        Occupant { size, block, empty: e, leaving: l, ..empty("", 0, 0) }
    })
}

proptest! {
    #[test]
    fn what_leaves_is_needed_enough_where_that_is_possible_and_does_not_fit_again(
        slots in prop::collection::vec(any_slot(), 0..7),
        memory in 0..30_i64,
        cpu in 0..30_i64,
        occupied in any::<bool>(),
    ) {
        let named = slots.iter().enumerate();
        let slots: Vec<_> =
            named.map(|(at, slot)| Occupant { key: empty(&at.to_string(), 0, 0).key, ..slot.clone() }).collect();
        let excess = gib(memory, cpu);
        let leave = choose(excess, &slots, occupied);
        prop_assert!(leave.iter().all(|slot| !slot.leaving && (slot.empty || occupied)));
        let sum = |slots: &[&Occupant]| -> Resources { slots.iter().map(|slot| slot.block).sum() };
        let may: Vec<_> = slots.iter().filter(|slot| !slot.leaving && (slot.empty || occupied)).collect();
        let enough = excess.fits(sum(&leave));
        prop_assert_eq!(enough, excess.fits(sum(&may)), "enough whenever all slots together would be");
        for slot in leave.iter().filter(|_| enough) {
            let left = sum(&leave) - excess;
            prop_assert!(!slot.block.fits(left), "{slot:?} fits into the rest: {left}");
        }
        let mut turned = slots.clone();
        turned.reverse();
        prop_assert_eq!(choose(excess, &turned, occupied), leave, "independent of the order of slots");
    }
}
