use berth_core::host::ConditionStatus::{self, False, True};
use berth_core::slot::Slot;
use berth_core::{Bytes, ClusterName, Cores, Resources, testing};

use super::*;

pub(super) const DELAYS: Delays = Delays {
    active: Duration::from_secs(300),
    retry: Duration::from_secs(60),
    grace: Duration::from_secs(60),
    allocation: Duration::from_secs(900),
};

fn completeness_proof() -> CompletenessProof<Hypervisor> {
    berth_cluster::testing::completeness_proof(&ClusterName::home())
}

fn size() -> Resources {
    Resources::new(Bytes::from_mib(1024), Cores::new(1))
}

pub(super) fn facts(target: Option<&str>, status: Option<&str>, ready: Option<ConditionStatus>) -> ReservationFacts {
    let slot = Slot {
        target_host: target.map(Into::into),
        status_host: status.map(Into::into),
        ready: ready.map(|status| (status, "R".to_owned())),
        ..testing::slot(0, "amber_s", (12, 4), "-", &[])
    };
    ReservationFacts {
        slot,
        paused: None,
        confirmed: [].into(),
        vms: [].into(),
        host: HostFact::Exists,
        verdict: HostVerdict::Ok,
        misplaced: None,
        revoked: None,
        former_is_good: false,
        adoptable: [].into(),
        hosts_are_synced: true,
        hosts_are_complete: true,
    }
}

fn with_vm(mut facts: ReservationFacts) -> ReservationFacts {
    facts.slot.expected.insert("vm".into(), size());
    facts
}

pub(super) fn step(facts: &ReservationFacts) -> ReservationStep {
    plan(facts, DELAYS).step
}

const CONFIRM: ReservationStep = ReservationStep::Confirm { pre_allocated: false };

#[test]
fn rules_in_order() {
    let mut nameless = facts(None, None, None);
    nameless.slot.flavor = "".into();
    assert_eq!(step(&nameless), ReservationStep::Nameless);
    assert_eq!(step(&facts(None, Some("h"), Some(True))), ReservationStep::Unbind(Revocation::Cleared));
    assert_eq!(step(&facts(Some("h"), Some("h"), Some(True))), ReservationStep::Nothing);
    let pre_allocated = with_vm(facts(Some("h"), None, None));
    assert_eq!(step(&pre_allocated), ReservationStep::Confirm { pre_allocated: true });
    assert_eq!(step(&facts(Some("h"), None, None)), CONFIRM);
    assert_eq!(step(&facts(Some("h"), Some("h"), Some(False))), CONFIRM);
    assert_eq!(step(&facts(None, None, Some(False))), ReservationStep::Place);
}

#[test]
fn ready_slot_echoes_and_is_reconciled_again() {
    let mut slot = facts(Some("h"), Some("h"), Some(True));
    assert_eq!(plan(&slot, DELAYS).requeue_after, Some(DELAYS.active));
    slot.slot.parent_generation = 2;
    assert_eq!(step(&slot), ReservationStep::Echo);
}

#[test]
fn a_slot_leaves_a_host_in_another_zone_after_the_grace_period_unless_it_has_vms() {
    let since = |seconds: u64| ReservationFacts {
        verdict: HostVerdict::WrongZone { zone: "az-b".into() },
        misplaced: Some(Duration::from_secs(seconds)),
        ..facts(Some("h"), Some("h"), Some(True))
    };
    let waits = plan(&since(20), DELAYS);
    assert_eq!((waits.step, waits.requeue_after), (ReservationStep::Nothing, Some(Duration::from_secs(40))));
    let leaves = ReservationStep::Revoke(Revocation::WrongZone("h".into(), "az-b".to_owned()));
    assert_eq!(step(&since(60)), leaves);
    assert_eq!(step(&with_vm(since(600))), step(&with_vm(facts(Some("h"), Some("h"), Some(True)))));
    let unsynced = ReservationFacts { hosts_are_synced: false, ..since(600) };
    assert_eq!(step(&unsynced), ReservationStep::Nothing, "the label may have been corrected");
}

#[test]
fn what_the_status_still_holds_is_freed_or_follows() {
    let stale = ReservationFacts { confirmed: [("vm".into(), "h1".into())].into(), ..facts(None, None, Some(False)) };
    assert_eq!(step(&stale), ReservationStep::Unbind(Revocation::Cleared));
    assert_eq!(step(&facts(Some("h2"), Some("h1"), Some(True))), CONFIRM);
}

#[test]
fn a_missing_host_counts_as_gone_after_the_grace() {
    let missing = |seconds| ReservationFacts {
        host: HostFact::Missing(Duration::from_secs(seconds), completeness_proof()),
        ..facts(Some("h"), Some("h"), Some(True))
    };
    let waiting = plan(&missing(10), DELAYS);
    assert_eq!(
        waiting,
        ReservationPlan { step: ReservationStep::Nothing, requeue_after: Some(Duration::from_secs(50)) },
        "the slot stays Ready"
    );
    assert_eq!(step(&missing(60)), ReservationStep::Revoke(Revocation::HostGone("h".into(), completeness_proof())));
    let unreadable = ReservationFacts { host: HostFact::Unreadable, ..missing(60) };
    assert_eq!(step(&unreadable), ReservationStep::Nothing, "unreadable does not mean gone");
}

#[test]
fn a_hand_set_host_that_is_no_good_is_taken_away() {
    let set = facts(Some("h"), None, Some(False));
    let missing = ReservationFacts { host: HostFact::Missing(Duration::ZERO, completeness_proof()), ..set.clone() };
    assert_eq!(step(&missing), ReservationStep::Revoke(Revocation::NoSuchHost("h".into())));
    assert_eq!(step(&with_vm(missing)), ReservationStep::Nothing, "with VMs the host has to stay absent for the grace");
    let elsewhere = ReservationFacts { verdict: HostVerdict::WrongZone { zone: "az-b".into() }, ..set.clone() };
    assert_eq!(step(&elsewhere), ReservationStep::Revoke(Revocation::WrongZone("h".into(), "az-b".to_owned())));
    let unreadable = ReservationFacts { host: HostFact::Unreadable, ..set };
    assert_eq!(
        plan(&unreadable, DELAYS),
        ReservationPlan { step: ReservationStep::Nothing, requeue_after: Some(DELAYS.retry) }
    );
}

#[test]
fn a_slot_in_force_on_a_good_host_goes_back_to_it() {
    let moved = ReservationFacts { former_is_good: true, ..with_vm(facts(Some("h2"), Some("h1"), Some(True))) };
    let elsewhere = ReservationFacts { verdict: HostVerdict::WrongZone { zone: "az-b".into() }, ..moved.clone() };
    assert_eq!(step(&elsewhere), ReservationStep::Return("h1".into()));
    let missing = ReservationFacts { host: HostFact::Missing(Duration::ZERO, completeness_proof()), ..moved };
    assert_eq!(step(&missing), ReservationStep::Return("h1".into()));
}

#[test]
fn no_host_is_chosen_while_the_hosts_are_not_synced() {
    let blind = ReservationFacts { hosts_are_synced: false, ..facts(None, None, Some(False)) };
    assert_eq!(
        plan(&blind, DELAYS),
        ReservationPlan { step: ReservationStep::Nothing, requeue_after: Some(DELAYS.retry) }
    );
}

#[test]
fn a_slot_that_over_books_its_host_is_revoked_before_it_is_in_force() {
    let free = Resources::new(Bytes::from_mib(0) - Bytes::from_mib(512), Cores::new(3)).into();
    let over = ReservationFacts { verdict: HostVerdict::Overbooked { free }, ..facts(Some("h"), None, None) };
    let ReservationStep::Revoke(why) = step(&over) else { panic!() };
    assert_eq!(why.cause(), "overbooked");
    assert_eq!(
        why.message(),
        "target host was cleared; pending re-placement: host h has no capacity for it, -512Mi memory, 3 cores would be left"
    );
    let in_force =
        ReservationFacts { verdict: HostVerdict::Overbooked { free }, ..facts(Some("h"), Some("h"), Some(True)) };
    assert_eq!(step(&in_force), ReservationStep::Nothing, "the oversubscription check handles other over-booking");
    let unsaid =
        ReservationFacts { verdict: HostVerdict::Overbooked { free }, ..facts(Some("h"), Some("h"), Some(False)) };
    assert_eq!(step(&unsaid), CONFIRM, "the slot was ready before");
}

#[test]
fn a_slot_that_was_revoked_by_a_verdict_waits_for_its_retry_delay() {
    let revoked =
        |seconds| ReservationFacts { revoked: Some(Duration::from_secs(seconds)), ..facts(None, None, Some(False)) };
    for (seconds, left) in [(0, 60), (45, 15)] {
        let waits = ReservationStep::Nothing.requeue_after(Duration::from_secs(left));
        assert_eq!(plan(&revoked(seconds), DELAYS), waits);
    }
    assert_eq!(step(&revoked(60)), ReservationStep::Place);
}

#[test]
fn messages_begin_with_the_fixed_texts() {
    for (why, text) in [
        (Revocation::Cleared, "target host was cleared; pending re-placement"),
        (Revocation::HostGone("h".into(), completeness_proof()), "host h no longer exists; looking for another"),
        (
            Revocation::NoSuchHost("h".into()),
            "target host was cleared; pending re-placement: spec.targetHost h is not the name of a Hypervisor",
        ),
    ] {
        assert_eq!(why.message(), text);
    }
}
