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

fn whole() -> Whole<Hypervisor> {
    berth_cluster::testing::whole(&ClusterName::home())
}

fn size() -> Resources {
    Resources::new(Bytes::from_mib(1024), Cores::new(1))
}

pub(super) fn facts(target: Option<&str>, status: Option<&str>, ready: Option<ConditionStatus>) -> Facts {
    let slot = Slot {
        target_host: target.map(Into::into),
        status_host: status.map(Into::into),
        ready: ready.map(|status| (status, "R".to_owned())),
        ..testing::slot(0, "amber_s", (12, 4), "-", &[])
    };
    Facts {
        slot,
        frozen: None,
        confirmed: [].into(),
        vms: [].into(),
        host: HostFact::Exists,
        verdict: Verdict::Ok,
        former_is_good: false,
        hosts_are_followed: true,
        hosts_are_complete: true,
    }
}

fn with_vm(mut facts: Facts) -> Facts {
    facts.slot.expected.insert("vm".into(), size());
    facts
}

pub(super) fn step(facts: &Facts) -> Step {
    plan(facts, DELAYS).step
}

const CONFIRM: Step = Step::Confirm { pre_allocated: false };

#[test]
fn document_21_section_4_rules_in_order() {
    let mut nameless = facts(None, None, None);
    nameless.slot.flavor = "".into();
    assert_eq!(step(&nameless), Step::Nameless, "rule 2");
    assert_eq!(step(&facts(None, Some("h"), Some(True))), Step::Unbind(Revocation::Cleared), "rule 3");
    assert_eq!(step(&facts(Some("h"), Some("h"), Some(True))), Step::Nothing, "rule 4");
    let pre_allocated = with_vm(facts(Some("h"), None, None));
    assert_eq!(step(&pre_allocated), Step::Confirm { pre_allocated: true }, "rule 5");
    assert_eq!(step(&facts(Some("h"), None, None)), CONFIRM, "rule 6");
    assert_eq!(step(&facts(Some("h"), Some("h"), Some(False))), CONFIRM, "section 15 no. 8 instead of rule 7");
    assert_eq!(step(&facts(None, None, Some(False))), Step::Place, "rule 7");
}

#[test]
fn document_21_section_4_2_a_ready_slot_echoes_and_is_looked_at_again() {
    let mut slot = facts(Some("h"), Some("h"), Some(True));
    assert_eq!(plan(&slot, DELAYS).again, Some(DELAYS.active));
    slot.slot.parent_generation = 2;
    assert_eq!(step(&slot), Step::Echo);
}

#[test]
fn document_21_section_15_no_3_and_6_what_the_status_still_holds_is_freed_or_follows() {
    let stale = Facts { confirmed: [("vm".into(), "h1".into())].into(), ..facts(None, None, Some(False)) };
    assert_eq!(step(&stale), Step::Unbind(Revocation::Cleared));
    assert_eq!(step(&facts(Some("h2"), Some("h1"), Some(True))), CONFIRM);
}

#[test]
fn u36_a_missing_host_counts_as_gone_after_the_grace() {
    let missing = |seconds| Facts {
        host: HostFact::Missing(Duration::from_secs(seconds), whole()),
        ..facts(Some("h"), Some("h"), Some(True))
    };
    let waiting = plan(&missing(10), DELAYS);
    assert_eq!(waiting, Plan { step: Step::Nothing, again: Some(Duration::from_secs(50)) }, "the slot stays Ready");
    assert_eq!(step(&missing(60)), Step::Revoke(Revocation::HostGone("h".into(), whole())));
    let unreadable = Facts { host: HostFact::Unreadable, ..missing(60) };
    assert_eq!(step(&unreadable), Step::Nothing, "unreadable is never gone");
}

#[test]
fn u54_a_hand_set_host_that_is_no_good_is_taken_away() {
    let set = facts(Some("h"), None, Some(False));
    let missing = Facts { host: HostFact::Missing(Duration::ZERO, whole()), ..set.clone() };
    assert_eq!(step(&missing), Step::Revoke(Revocation::NoSuchHost("h".into())));
    assert_eq!(step(&with_vm(missing)), Step::Nothing, "with VMs its absence has to last");
    let elsewhere = Facts { verdict: Verdict::WrongZone { zone: "az-b".into() }, ..set.clone() };
    assert_eq!(step(&elsewhere), Step::Revoke(Revocation::WrongZone("h".into(), "az-b".to_owned())));
    let unreadable = Facts { host: HostFact::Unreadable, ..set };
    assert_eq!(plan(&unreadable, DELAYS), Plan { step: Step::Nothing, again: Some(DELAYS.retry) });
}

#[test]
fn u54_a_slot_in_force_on_a_good_host_goes_back_to_it() {
    let moved = Facts { former_is_good: true, ..with_vm(facts(Some("h2"), Some("h1"), Some(True))) };
    let elsewhere = Facts { verdict: Verdict::WrongZone { zone: "az-b".into() }, ..moved.clone() };
    assert_eq!(step(&elsewhere), Step::Return("h1".into()));
    let missing = Facts { host: HostFact::Missing(Duration::ZERO, whole()), ..moved };
    assert_eq!(step(&missing), Step::Return("h1".into()));
}

#[test]
fn u37_no_host_is_chosen_while_the_hosts_are_not_followed() {
    let blind = Facts { hosts_are_followed: false, ..facts(None, None, Some(False)) };
    assert_eq!(plan(&blind, DELAYS), Plan { step: Step::Nothing, again: Some(DELAYS.retry) });
}

#[test]
fn d10_a_slot_that_over_books_its_host_is_revoked_before_it_is_in_force() {
    let free = Resources::new(Bytes::from_mib(0) - Bytes::from_mib(512), Cores::new(3)).into();
    let over = Facts { verdict: Verdict::Overbooked { free }, ..facts(Some("h"), None, None) };
    let Step::Revoke(why) = step(&over) else { panic!() };
    assert_eq!(why.cause(), "overbooked");
    assert_eq!(
        why.message(),
        "target host was cleared; pending re-placement: host h has no room for it, -512Mi memory, 3 cores would be left"
    );
    let in_force = Facts { verdict: Verdict::Overbooked { free }, ..facts(Some("h"), Some("h"), Some(True)) };
    assert_eq!(step(&in_force), Step::Nothing, "other over-booking goes to the oversubscription check");
    let unsaid = Facts { verdict: Verdict::Overbooked { free }, ..facts(Some("h"), Some("h"), Some(False)) };
    assert_eq!(step(&unsaid), CONFIRM, "it was in force before");
}

#[test]
fn messages_begin_with_the_fixed_texts() {
    for (why, text) in [
        (Revocation::Cleared, "target host was cleared; pending re-placement"),
        (Revocation::HostGone("h".into(), whole()), "host h no longer exists; looking for another"),
        (
            Revocation::NoSuchHost("h".into()),
            "target host was cleared; pending re-placement: spec.targetHost h is not the name of a Hypervisor",
        ),
    ] {
        assert_eq!(why.message(), text);
    }
}
