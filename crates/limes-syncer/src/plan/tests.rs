//! Decisions about single commitments, among them the worked scenarios. The clock shows the time `at(0)`.

use berth_core::Quantity;
use berth_core::commitment::ResourceType;
use berth_core::testing::{at, spec};

use super::*;
use crate::view::tests::entry;
use crate::view::view_proof;

fn stored(change: impl FnOnce(&mut StoredFacts)) -> StoredCommitment {
    let spec = Spec {
        uuid: "uuid-1".into(),
        group: "2101".into(),
        zone: "az-1".into(),
        project: "p-1".into(),
        domain: "d-1".into(),
        start: Some(at(-100)),
        end: None,
        state: State::Confirmed,
        ..spec("32Gi")
    };
    let mut facts = StoredFacts {
        spec,
        is_not_yet_listed: false,
        last_change: at(-5000),
        is_being_deleted: false,
        is_paused: false,
        is_undecided: false,
        is_served: true,
    };
    change(&mut facts);
    StoredCommitment::One(facts)
}

/// A complete view, three of which have not listed what is not listed.
fn facts(listed: Option<&Entry>, stored: StoredCommitment) -> SyncFacts<'_> {
    SyncFacts {
        unlisted: listed.is_none().then(|| Unlisted::without_views(at(-3600))),
        listed,
        complete: Some(view_proof()),
        stored,
        has_changed: false,
        change: ChangeState::None,
        now: Some(at(0)),
        ends_stale: false,
    }
}

fn listed(
    stored: StoredCommitment,
    change: impl FnOnce(&mut berth_core::liquid::conversion::LimesCommitment),
) -> SyncPlan {
    let entry = entry(change);
    plan(&facts(Some(&entry), stored))
}

fn unlisted(stored: StoredCommitment) -> SyncPlan {
    plan(&facts(None, stored))
}

fn patched(plan: SyncPlan) -> Spec {
    let SyncPlan::Patch(usable) = plan else { panic!("{plan:?}") };
    usable.spec
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

#[test]
fn first_run_creates_active_and_planned_commitments_and_not_those_that_are_over() {
    let SyncPlan::Create(confirmed) = listed(StoredCommitment::Absent, |_| ()) else { panic!() };
    assert_eq!((confirmed.spec.amount, confirmed.spec.allow_rejection), (quantity("32Gi"), false));
    assert_eq!(confirmed.confirmed_at, Some(at(-100)));
    let SyncPlan::Create(planned) = listed(StoredCommitment::Absent, |one| one.status = State::Planned) else {
        panic!()
    };
    assert_eq!((planned.spec.amount, planned.spec.state), (Quantity::ZERO, State::Planned), "it holds nothing yet");
    for change in [
        (|one| one.expires_at = Some(at(-1))) as fn(&mut berth_core::liquid::conversion::LimesCommitment),
        |one| one.expires_at = Some(at(0)),
        |one| one.status = State::Superseded,
        |one| one.status = State::Expired,
    ] {
        assert_eq!(listed(StoredCommitment::Absent, change), SyncPlan::Keep(KeepReason::Ended));
    }
}

#[test]
fn a_second_run_without_a_change_writes_nothing() {
    assert_eq!(listed(stored(|_| ()), |_| ()), SyncPlan::Keep(KeepReason::UpToDate));
}

#[test]
fn an_amount_of_zero_is_written() {
    assert_eq!(patched(listed(stored(|_| ()), |one| one.amount = Quantity::ZERO)).amount, Quantity::ZERO);
}

#[test]
fn a_commitment_that_limes_lacks_stays() {
    assert_eq!(unlisted(stored(|_| ())), SyncPlan::Keep(KeepReason::Missing));
}

#[test]
fn a_commitment_that_is_listed_in_another_zone_stays_as_it_is() {
    let plan = listed(stored(|_| ()), |one| one.zone = "az-2".into());
    assert_eq!(plan, SyncPlan::Keep(KeepReason::ZoneDiffers));
    let without_zone = stored(|one| one.spec.zone = "".into());
    assert_eq!(patched(listed(without_zone, |_| ())).zone.as_str(), "az-1");
}

#[test]
fn a_commitment_whose_end_has_passed_is_deleted_whether_or_not_it_is_listed() {
    let over = || stored(|one| (one.spec.end, one.spec.amount) = (Some(at(0)), Quantity::ZERO));
    assert_eq!(unlisted(over()), SyncPlan::Delete(view_proof()));
    assert_eq!(listed(over(), |one| one.expires_at = Some(at(0))), SyncPlan::Delete(view_proof()));
    let incomplete = SyncFacts { complete: None, unlisted: None, ..facts(None, over()) };
    assert_eq!(plan(&incomplete), SyncPlan::Keep(KeepReason::IncompleteView));
    let entry = entry(|one| one.expires_at = Some(at(0)));
    let incomplete = SyncFacts { complete: None, ..facts(Some(&entry), over()) };
    assert_eq!(plan(&incomplete), SyncPlan::Keep(KeepReason::UpToDate));
}

#[test]
fn a_commitment_that_was_prolonged_is_not_deleted() {
    let over = stored(|one| (one.spec.end, one.spec.amount) = (Some(at(-1)), Quantity::ZERO));
    let spec = patched(listed(over, |one| one.expires_at = Some(at(100))));
    assert_eq!((spec.amount, spec.end), (quantity("32Gi"), Some(at(100))));
}

#[test]
fn a_commitment_that_was_superseded_in_limes_is_superseded_and_not_deleted() {
    let spec = patched(listed(stored(|_| ()), |one| (one.status, one.expires_at) = (State::Superseded, Some(at(100)))));
    assert_eq!((spec.state, spec.amount, spec.end), (State::Superseded, Quantity::ZERO, Some(at(100))));
    let superseded = StoredFacts { spec, ..of(stored(|_| ())) };
    let again = listed(StoredCommitment::One(superseded.clone()), |one| {
        (one.status, one.expires_at) = (State::Superseded, Some(at(100)));
    });
    assert_eq!(again, SyncPlan::Keep(KeepReason::UpToDate), "it is written once");
    assert_eq!(unlisted(StoredCommitment::One(superseded)), SyncPlan::Keep(KeepReason::Ended));
}

fn of(stored: StoredCommitment) -> StoredFacts {
    let StoredCommitment::One(facts) = stored else { panic!() };
    facts
}

#[test]
fn what_is_not_compared_changes_nothing() {
    let entry = Entry { listing: Listing::Skipped(SkipReason::UnknownFlavorGroup), ..entry(|_| ()) };
    let kept = SyncPlan::Keep(KeepReason::Skipped(SkipReason::UnknownFlavorGroup));
    assert_eq!(plan(&facts(Some(&entry), stored(|_| ()))), kept);
    assert_eq!(plan(&facts(Some(&entry), StoredCommitment::Absent)), kept);
    let over = stored(|one| one.spec.end = Some(at(-1)));
    assert_eq!(plan(&facts(Some(&entry), over)), kept, "it is not even deleted");
}

#[test]
fn the_other_resource_is_never_written() {
    let plan = listed(stored(|_| ()), |one| one.resource = ResourceType::Cores);
    assert_eq!(plan, SyncPlan::Keep(KeepReason::ResourceDiffers));
}

#[test]
fn the_start_and_the_permission_to_reject_stay() {
    let old = stored(|one| (one.spec.start, one.spec.allow_rejection) = (Some(at(-7)), true));
    let spec = patched(listed(old, |one| one.amount = quantity("64Gi")));
    assert_eq!((spec.start, spec.allow_rejection), (Some(at(-7)), true));
}

#[test]
fn obstacles_keep_a_commitment_as_it_is() {
    type Change = fn(&mut SyncFacts<'_>);
    let own = |change: fn(&mut StoredFacts)| stored(change);
    let rows: [(Change, StoredCommitment, KeepReason); 9] = [
        (|facts| facts.now = None, own(|_| ()), KeepReason::ClockUntrusted),
        (|facts| facts.change = ChangeState::Open, own(|_| ()), KeepReason::OpenChange),
        (|facts| facts.change = ChangeState::Recent, own(|_| ()), KeepReason::RecentChange),
        (|facts| facts.has_changed = true, own(|_| ()), KeepReason::ChangedSince),
        (|_| (), own(|one| one.is_being_deleted = true), KeepReason::BeingDeleted),
        (|_| (), own(|one| one.is_paused = true), KeepReason::Paused),
        (|_| (), own(|one| one.is_undecided = true), KeepReason::Undecided),
        (|_| (), own(|one| one.is_served = false), KeepReason::NotServed),
        (|_| (), StoredCommitment::Several, KeepReason::SeveralObjects),
    ];
    for (change, stored, reason) in rows {
        let entry = entry(|one| one.amount = Quantity::ZERO);
        let mut listed = facts(Some(&entry), stored.clone());
        change(&mut listed);
        assert_eq!(plan(&listed), SyncPlan::Keep(reason));
        let over = match stored {
            StoredCommitment::One(one) => StoredCommitment::One(StoredFacts { is_not_yet_listed: true, ..one }),
            other => other,
        };
        let mut unlisted = facts(None, over);
        change(&mut unlisted);
        assert_eq!(plan(&unlisted), SyncPlan::Keep(reason), "and it is not ended");
    }
    for change in [(|facts| facts.now = None) as Change, |facts| facts.has_changed = true] {
        let entry = entry(|_| ());
        let mut absent = facts(Some(&entry), StoredCommitment::Absent);
        change(&mut absent);
        assert!(matches!(plan(&absent), SyncPlan::Keep(_)), "nothing is created either");
    }
}

#[test]
fn a_commitment_that_limes_never_listed_is_ended_after_three_views_and_ten_minutes() {
    let marked = |last_change| stored(|one| (one.is_not_yet_listed, one.last_change) = (true, at(last_change)));
    let SyncPlan::End(end) = unlisted(marked(-4200)) else { panic!() };
    assert_eq!(
        (end.kind, end.spec.state, end.spec.amount),
        (EndKind::UnknownToLimes, State::Superseded, Quantity::ZERO)
    );
    assert_eq!(unlisted(marked(-4199)), SyncPlan::Keep(KeepReason::Missing), "the first view is too early");
    for incomplete in [
        SyncFacts { unlisted: None, ..facts(None, marked(-9000)) },
        SyncFacts { complete: None, ..facts(None, marked(-9000)) },
    ] {
        assert!(matches!(plan(&incomplete), SyncPlan::Keep(_)));
    }
}

#[test]
fn a_commitment_that_limes_has_listed_is_ended_only_if_that_is_configured() {
    let ends = SyncFacts { ends_stale: true, ..facts(None, stored(|_| ())) };
    assert!(matches!(plan(&ends), SyncPlan::End(EndReason { kind: EndKind::Stale, .. })));
    let two_views = SyncFacts { unlisted: None, ..ends.clone() };
    assert_eq!(plan(&two_views), SyncPlan::Keep(KeepReason::Missing));
    let incomplete = SyncFacts { complete: None, ..ends };
    assert_eq!(plan(&incomplete), SyncPlan::Keep(KeepReason::IncompleteView));
}

#[test]
fn the_mark_of_a_new_commitment_goes_when_limes_lists_it() {
    let marked = || stored(|one| one.is_not_yet_listed = true);
    assert_eq!(patched(listed(marked(), |_| ())), of(marked()).spec);
    let skipped = Entry { listing: Listing::Skipped(SkipReason::UnitMismatch), ..entry(|_| ()) };
    assert_eq!(patched(plan(&facts(Some(&skipped), marked()))), of(marked()).spec, "in whatever form");
}
