use std::collections::BTreeSet;

use berth_core::host::ConditionStatus::True;
use berth_core::{Bytes, Cores, Resources};
use proptest::prelude::*;

use super::*;
use crate::facts::HostFact;
use crate::plan::tests::{DELAYS, facts};
use crate::plan::{ReservationPlan, ReservationStep, plan};

/// VM, minutes since it was assigned, whether it was confirmed, and the hosts that list it.
type Row<'a> = (&'a str, u64, bool, &'a [&'a str]);

const A: &str = "node-a";
const B: &str = "node-b";

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

fn slot(rows: &[Row<'_>]) -> ReservationFacts {
    let mut facts = facts(Some(A), Some(A), Some(True));
    for (vm, age, confirmed, hosts) in rows {
        facts.slot.expected.insert((*vm).into(), Resources::new(Bytes::from_mib(1024), Cores::new(1)));
        let hosts = hosts.iter().map(|host| (*host).into()).collect();
        facts.vms.insert((*vm).into(), VmFact { age: minutes(*age), hosts, ..VmFact::default() });
        facts.confirmed.extend(confirmed.then(|| ((*vm).into(), A.into())));
    }
    facts
}

fn absent(mut facts: ReservationFacts, vm: &str, time: Duration) -> ReservationFacts {
    facts.vms.entry(vm.into()).or_default().absent = time;
    facts
}

fn taken(mut facts: ReservationFacts, vm: &str, host: &str) -> ReservationFacts {
    facts.vms.entry(vm.into()).or_default().taken.insert(host.into());
    facts
}

fn verified(facts: &ReservationFacts) -> VerificationPlan {
    verify(facts, DELAYS)
}

/// The VMs that stay in the allocations, the confirmed ones, and the time of the next reconciliation.
fn outcome(facts: &ReservationFacts, free: Option<&str>) -> (Vec<String>, Vec<(String, String)>, Duration) {
    let requeue_after = plan(facts, DELAYS).requeue_after.unwrap_or_default();
    let verified = verified(facts).settled(free.map(Into::into).as_ref());
    let stay = facts.vms.keys().filter(|vm| !verified.drop.contains(vm)).map(ToString::to_string).collect();
    let confirmed = verified.confirmed.iter().map(|(vm, host)| (vm.to_string(), host.to_string())).collect();
    (stay, confirmed, requeue_after)
}

fn expected(
    stay: &[&str],
    confirmed: &[(&str, &str)],
    requeue_after: Duration,
) -> (Vec<String>, Vec<(String, String)>, Duration) {
    let pair = |(vm, host): &(&str, &str)| ((*vm).to_owned(), (*host).to_owned());
    (stay.iter().map(ToString::to_string).collect(), confirmed.iter().map(pair).collect(), requeue_after)
}

#[test]
fn four_vms_of_which_one_has_moved() {
    let facts =
        slot(&[("v1", 120, true, &[A]), ("v2", 4, false, &[]), ("v3", 20, false, &[A]), ("v4", 60, true, &[B])]);
    assert_eq!(outcome(&facts, None), expected(&["v1", "v2", "v3"], &[("v1", A), ("v3", A)], DELAYS.grace));
    assert_eq!(verified(&facts).fresh, ["v3".into()], "only its candidates are cleaned");
}

#[test]
fn a_vm_that_never_came_is_given_up_without_a_search() {
    assert_eq!(outcome(&slot(&[("v5", 16, false, &[B])]), None), expected(&[], &[], DELAYS.active));
}

#[test]
fn a_vm_that_is_nowhere_is_kept_for_one_grace_interval() {
    let facts = slot(&[("v6", 3, true, &[])]);
    assert_eq!(outcome(&facts, None), expected(&["v6"], &[("v6", A)], DELAYS.grace));
    let almost = absent(facts.clone(), "v6", Duration::from_secs(59));
    assert_eq!(outcome(&almost, None), expected(&["v6"], &[("v6", A)], Duration::from_secs(1)), "not a second longer");
    assert_eq!(outcome(&absent(facts, "v6", DELAYS.grace), None), expected(&[], &[], DELAYS.active));
}

#[test]
fn an_only_vm_is_synced_where_there_is_capacity() {
    let facts = slot(&[("v7", 60, true, &[B])]);
    assert_eq!(outcome(&facts, Some(B)), expected(&["v7"], &[("v7", B)], DELAYS.active));
    assert_eq!(outcome(&facts, None), expected(&[], &[], DELAYS.active));
    let two = slot(&[("v7", 60, true, &[B]), ("spec-only", 1, false, &[])]);
    assert_eq!(outcome(&two, Some(B)).0, ["spec-only"], "all expected VMs count");
    let awaited = taken(facts, "v7", B);
    assert_eq!(outcome(&awaited, Some(B)).0, [""; 0], "another slot there expects the VM");
}

#[test]
fn a_vm_that_is_there_is_confirmed_at_once() {
    let facts = slot(&[("v8", 5, false, &[A])]);
    assert_eq!(outcome(&facts, None), expected(&["v8"], &[("v8", A)], DELAYS.active));
}

#[test]
fn nothing_is_dropped_while_the_host_is_missing() {
    let gone =
        HostFact::Missing(Duration::ZERO, berth_cluster::testing::completeness_proof(&berth_core::ClusterName::home()));
    let facts = ReservationFacts { host: gone, ..slot(&[("v9", 20, false, &[])]) };
    assert_eq!(
        plan(&facts, DELAYS),
        ReservationPlan { step: ReservationStep::Nothing, requeue_after: Some(DELAYS.grace) }
    );
}

#[test]
fn vm_is_awaited_exactly_as_long_as_its_grace() {
    let aged = |seconds| {
        let mut facts = slot(&[("v", 0, false, &[])]);
        facts.vms.entry("v".into()).or_default().age = Duration::from_secs(seconds);
        facts
    };
    assert_eq!(outcome(&aged(899), None), expected(&["v"], &[], Duration::from_secs(1)));
    assert_eq!(outcome(&aged(900), None).0, [""; 0]);
    let watched = absent(aged(0), "v", minutes(15));
    assert_eq!(outcome(&watched, None).0, [""; 0], "a wall clock that was set back does not prolong it");
    let none = Delays { allocation: Duration::ZERO, ..DELAYS };
    assert_eq!(verify(&aged(0), none).drop, ["v".into()], "no grace");
}

#[test]
fn a_status_without_expected_vms_is_cleared() {
    let mut facts = slot(&[]);
    assert!(!verified(&facts).differs(&facts));
    facts.confirmed.insert("gone".into(), A.into());
    assert_eq!(plan(&facts, DELAYS).step, ReservationStep::Verify(VerificationPlan::default()));
}

#[test]
fn what_cannot_be_read_completely_costs_no_vm() {
    let rows: [Row<'_>; 4] =
        [("here", 60, false, &[A]), ("moved", 60, true, &[B]), ("ended", 60, true, &[]), ("late", 60, false, &[])];
    let facts = ReservationFacts { hosts_are_complete: false, ..absent(slot(&rows), "ended", minutes(60)) };
    let confirmed = [("ended", A), ("here", A), ("moved", A)];
    assert_eq!(outcome(&facts, None), expected(&["ended", "here", "late", "moved"], &confirmed, DELAYS.active));
}

#[test]
fn a_vm_that_counts_in_an_earlier_slot_of_the_host_leaves_this_one() {
    let facts = taken(slot(&[("v", 1, true, &[A])]), "v", A);
    assert_eq!(outcome(&facts, None), expected(&[], &[], DELAYS.active));
}

#[test]
fn the_status_names_the_host_that_lists_the_vm() {
    let mut facts = slot(&[("v", 60, true, &[A])]);
    facts.confirmed.insert("v".into(), B.into());
    assert!(verified(&facts).differs(&facts), "the status write after a move was lost");
    assert_eq!((verified(&facts).confirmed, verified(&facts).fresh), ([("v".into(), A.into())].into(), vec![]));
}

fn any_vm() -> impl Strategy<Value = (VmFact, bool)> {
    let hosts = || prop::collection::btree_set(prop::sample::select(vec![A, B, "node-c"]), 0..3);
    let seconds = || (0_u64..2000).prop_map(Duration::from_secs);
    (seconds(), hosts(), hosts(), seconds(), any::<bool>()).prop_map(|(age, hosts, taken, absent, confirmed)| {
        let hosts: BTreeSet<HostName> = hosts.into_iter().map(Into::into).collect();
        let taken = taken.into_iter().map(HostName::from).filter(|host| hosts.contains(host)).collect();
        (VmFact { age, hosts, taken, absent }, confirmed)
    })
}

/// The facts of the next reconciliation at the same time, after the plan was applied.
fn carried_out(facts: &ReservationFacts, verified: &VerificationPlan, host: Option<&HostName>) -> ReservationFacts {
    let mut after = facts.clone();
    after.confirmed = verified.confirmed.clone();
    after.vms.retain(|vm, _| !verified.drop.contains(vm));
    after.slot.expected.retain(|vm, _| !verified.drop.contains(vm));
    if let Some(host) = host {
        (after.slot.target_host, after.slot.status_host) = (Some(host.clone()), Some(host.clone()));
    }
    after
}

proptest! {
    #[test]
    fn planning_again_plans_nothing_and_no_vm_that_is_here_is_lost(
        vms in prop::collection::btree_map("v[0-9]", any_vm(), 0..4),
        complete in any::<bool>(),
        free in any::<bool>(),
    ) {
        let mut facts = ReservationFacts { hosts_are_complete: complete, ..slot(&[]) };
        for (vm, (fact, confirmed)) in vms {
            facts.slot.expected.insert(vm.as_str().into(), Resources::ZERO);
            facts.confirmed.extend(confirmed.then(|| (vm.as_str().into(), HostName::from(A))));
            facts.vms.insert(vm.as_str().into(), fact);
        }
        let planned = verified(&facts);
        let free = planned.follow.as_ref().filter(|_| free).map(|follow| follow.hosts[0].clone());
        let settled = planned.clone().settled(free.as_ref());
        for vm in &settled.drop {
            let fact = &facts.vms[vm];
            prop_assert!(complete && (!fact.hosts.contains(A) || fact.taken.contains(A)));
        }
        let after = carried_out(&facts, &settled, free.as_ref());
        let requeue_after = verified(&after);
        prop_assert!(!requeue_after.differs(&after), "{planned:?} then {requeue_after:?}");
        prop_assert_eq!((requeue_after.fresh, requeue_after.requeue_after), (vec![], settled.requeue_after));
    }
}
