use std::collections::BTreeSet;

use berth_core::ClusterName;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn key(number: usize) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), format!("commitment-{number}"))
}

fn place(zone: &str) -> GroupAndZone {
    GroupAndZone { group: "amber".into(), zone: zone.into() }
}

fn claim(cores: i64, total: i64) -> CoresClaim {
    CoresClaim { place: place("az-a"), cores: Cores::new(cores), total: Cores::new(total) }
}

fn shown(all: &[(usize, i64)]) -> BTreeMap<ObjectKey, Cores> {
    all.iter().map(|(number, cores)| (key(*number), Cores::new(*cores))).collect()
}

fn short(available: i64, provisional: bool) -> ClaimResult {
    ClaimResult::Short { available: Cores::new(available), provisional }
}

#[test]
fn two_decisions_in_a_row_do_not_give_out_the_same_cores() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.take(&key(1), &claim(60, 100), &shown(&[])), ClaimResult::Enough);
    assert_eq!(ledger.take(&key(2), &claim(60, 100), &shown(&[])), short(40, true), "the first is not written yet");
    assert_eq!(ledger.take(&key(3), &claim(40, 100), &shown(&[])), ClaimResult::Enough);
    assert_eq!(ledger.end(&key(1)), Some(place("az-a")), "the waiting second commitment must be enqueued");
    assert_eq!(ledger.end(&key(3)), None, "no commitment waited for it");
    assert_eq!(ledger.take(&key(2), &claim(60, 100), &shown(&[(1, 60), (3, 40)])), short(0, false));
}

#[test]
fn what_a_commitment_holds_does_not_count_against_it() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.take(&key(1), &claim(100, 100), &shown(&[(1, 60)])), ClaimResult::Enough);
    assert_eq!(
        ledger.take(&key(1), &claim(80, 100), &shown(&[(1, 60)])),
        ClaimResult::Enough,
        "nor the cores that were decided for it"
    );
}

#[test]
fn a_commitment_that_shrinks_counts_with_what_it_had_until_that_is_shown() {
    let mut ledger = Ledger::default();
    ledger.take(&key(1), &claim(20, 100), &shown(&[(1, 80)]));
    assert_eq!(ledger.take(&key(2), &claim(60, 100), &shown(&[(1, 80)])), short(20, false));
    ledger.end(&key(1));
    assert_eq!(ledger.take(&key(2), &claim(60, 100), &shown(&[(1, 20)])), ClaimResult::Enough);
}

#[test]
fn one_that_moves_counts_in_both_places_until_that_is_shown() {
    let mut ledger = Ledger::default();
    let there = CoresClaim { place: place("az-b"), ..claim(40, 50) };
    assert_eq!(ledger.take(&key(1), &there, &shown(&[])), ClaimResult::Enough);
    assert_eq!(
        ledger.take(&key(2), &claim(80, 100), &shown(&[(1, 40)])),
        short(60, false),
        "it counts in its old zone"
    );
    assert_eq!(ledger.take(&key(2), &CoresClaim { cores: Cores::new(20), ..there }, &shown(&[])), short(10, true));
}

#[test]
fn a_decision_of_unknown_outcome_counts_until_it_was_read_again() {
    let mut ledger = Ledger::default();
    ledger.take(&key(1), &claim(60, 100), &shown(&[]));
    ledger.doubt(&key(1));
    assert_eq!(ledger.settle(|_| true), []);
    assert_eq!(
        ledger.take(&key(2), &claim(60, 100), &shown(&[])),
        short(40, true),
        "unwritten claims are no reason to reject"
    );
    assert_eq!(ledger.settle(|key| key != &self::key(1)), [place("az-a")]);
    assert_eq!(ledger.take(&key(2), &claim(60, 100), &shown(&[])), ClaimResult::Enough);
    assert_eq!(ledger.settle(|_| false), [], "claims of running reconciliations end with these");
    assert!(!ledger.is_empty());
}

#[test]
fn the_headroom_may_be_negative_and_huge_amounts_do_not_wrap_around() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.take(&key(1), &claim(4, 180), &shown(&[(2, 184)])), short(-4, false));
    let huge = shown(&[(2, i64::MAX), (3, i64::MAX)]);
    assert!(matches!(ledger.take(&key(1), &claim(1, 180), &huge), ClaimResult::Short { .. }));
}

/// An event of one of a few commitments.
#[derive(Clone, Debug)]
enum Step {
    /// It is reconciled, and asks for this many cores.
    Decide(usize, i64),
    Lands(usize),
    Fails(usize),
    Unknown(usize),
    /// It is read again: the write took effect, or did not.
    Resolved(usize, bool),
    Goes(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = 0_usize..5;
    let step = prop_oneof![
        4 => (which.clone(), 0_i64..70).prop_map(|(one, cores)| Step::Decide(one, cores)),
        3 => which.clone().prop_map(Step::Lands),
        1 => which.clone().prop_map(Step::Fails),
        1 => which.clone().prop_map(Step::Unknown),
        2 => (which.clone(), any::<bool>()).prop_map(|(one, took)| Step::Resolved(one, took)),
        1 => which.prop_map(Step::Goes),
    ];
    vec(step, 0..60)
}

/// The API server, a process that writes its decisions, and the possible outcomes of its writes.
#[derive(Default)]
struct Life {
    ledger: Ledger,
    shown: BTreeMap<ObjectKey, Cores>,
    written: BTreeMap<ObjectKey, Cores>,
    doubted: BTreeSet<ObjectKey>,
}

impl Life {
    fn step(&mut self, step: &Step, total: i64) {
        match step {
            // The controller does not reconcile an object whose last write has an unknown outcome.
            Step::Decide(one, cores) if !self.written.contains_key(&key(*one)) => {
                self.decide(&key(*one), *cores, total);
            }
            Step::Lands(one) => self.ends(&key(*one), true, false),
            Step::Fails(one) => self.ends(&key(*one), false, false),
            Step::Resolved(one, took) => self.ends(&key(*one), *took, true),
            Step::Unknown(one) if self.written.contains_key(&key(*one)) => {
                self.doubted.insert(key(*one));
                self.ledger.doubt(&key(*one));
            }
            Step::Goes(one) if !self.written.contains_key(&key(*one)) => drop(self.shown.remove(&key(*one))),
            _ => {}
        }
    }

    fn decide(&mut self, key: &ObjectKey, cores: i64, total: i64) {
        let verdict = self.ledger.take(key, &claim(cores, total), &self.shown);
        let others: Cores = self.outstanding().iter().filter(|(other, _)| *other != key).map(|(_, c)| *c).sum();
        let fits = others.get() + cores <= total;
        match verdict {
            ClaimResult::Enough => {
                assert!(fits, "{others:?} are out");
                self.written.insert(key.clone(), Cores::new(cores));
            }
            ClaimResult::Short { available, .. } => assert!(!fits && available.get() == total - others.get()),
        }
    }

    fn ends(&mut self, key: &ObjectKey, took: bool, doubted: bool) {
        if self.doubted.contains(key) != doubted {
            return;
        }
        let Some(cores) = self.written.remove(key) else { return };
        if took {
            self.shown.insert(key.clone(), cores);
        }
        self.doubted.remove(key);
        if doubted {
            let still = self.doubted.clone();
            self.ledger.settle(|key| still.contains(key));
        } else {
            self.ledger.end(key);
        }
    }

    /// The most that objects may show, for any outcome of the writes.
    fn outstanding(&self) -> BTreeMap<ObjectKey, Cores> {
        let mut all = self.shown.clone();
        for (key, cores) in &self.written {
            let known = all.entry(key.clone()).or_default();
            *known = (*known).max(*cores);
        }
        all
    }
}

proptest! {
    #[test]
    fn never_more_than_the_total_is_given_out_whatever_the_order(steps in steps(), total in 0_i64..150) {
        let mut life = Life::default();
        for step in &steps {
            life.step(step, total);
            let given: Cores = life.outstanding().values().copied().sum();
            prop_assert!(given.get() <= total, "{given:?} of {total} after {step:?}");
        }
        for number in 0..5 {
            life.ends(&key(number), false, true);
            life.ends(&key(number), true, false);
        }
        prop_assert!(life.ledger.is_empty(), "at rest the ledger equals the objects");
        let free = total - life.shown.values().copied().sum::<Cores>().get();
        prop_assert_eq!(life.ledger.take(&key(9), &claim(free, total), &life.shown), ClaimResult::Enough);
        prop_assert_eq!(life.ledger.take(&key(8), &claim(1, total), &life.shown), short(0, free >= 1));
    }
}
