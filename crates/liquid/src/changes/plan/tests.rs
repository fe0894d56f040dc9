use super::*;

const LEFT: Duration = Duration::from_secs(10);

fn item(uuid: &str) -> ItemFacts {
    ItemFacts {
        uuid: uuid.to_owned(),
        releases: false,
        is_deleted_at_end: false,
        state: ItemState::AsWanted,
        outcome: ItemOutcome::Accepted,
        is_settled: true,
        exists: true,
        is_to_restore: false,
        is_whole: true,
        has_surplus: false,
        is_paused: false,
        is_new: false,
    }
}

fn change(phase: ChangePhase, items: &[ItemFacts]) -> ChangeFacts {
    ChangeFacts {
        phase,
        is_finished: false,
        is_own: true,
        is_abandoned: false,
        is_deleting: false,
        left: LEFT,
        requires_confirmation: true,
        is_unread: false,
        items: items.to_vec(),
    }
}

fn unwritten(uuid: &str, releases: bool) -> ItemFacts {
    ItemFacts { releases, state: ItemState::AsBefore, outcome: ItemOutcome::Waiting, ..item(uuid) }
}

fn deleted(uuid: &str) -> ItemFacts {
    ItemFacts { is_deleted_at_end: true, ..item(uuid) }
}

#[test]
fn what_releases_is_written_before_what_grows() {
    let items = [unwritten("new", false), unwritten("old", true)];
    assert_eq!(plan(&change(ChangePhase::Applying, &items)), NextStep::Write(vec![1]));
    let released = [unwritten("new", false), item("old")];
    assert_eq!(plan(&change(ChangePhase::Applying, &released)), NextStep::Write(vec![0]));
}

#[test]
fn a_confirmed_change_waits_for_every_outcome_until_its_deadline() {
    let waiting = ItemFacts { outcome: ItemOutcome::Waiting, ..item("a") };
    let facts = change(ChangePhase::Applying, &[item("b"), waiting]);
    assert_eq!(plan(&facts), NextStep::AwaitOutcomes(LEFT));
    let late = ChangeFacts { left: Duration::ZERO, ..facts };
    assert_eq!(plan(&late), NextStep::RollBack(RollBackReason::Timeout));
}

#[test]
fn nothing_is_concluded_from_commitments_that_cannot_be_read() {
    let gone = ItemFacts { exists: false, ..item("a") };
    for phase in [
        ChangePhase::Pending,
        ChangePhase::Applying,
        ChangePhase::Accepted,
        ChangePhase::RollingBack,
        ChangePhase::Failed,
    ] {
        let facts = ChangeFacts { is_unread: true, ..change(phase, std::slice::from_ref(&gone)) };
        assert_eq!(plan(&facts), NextStep::AwaitRead, "{phase}");
    }
    let late = change(ChangePhase::Applying, &[gone]);
    let late = ChangeFacts { is_unread: true, left: Duration::ZERO, ..late };
    assert_eq!(plan(&late), NextStep::RollBack(RollBackReason::Timeout), "its caller gets an answer");
}

#[test]
fn the_first_rejection_ends_the_waiting() {
    let waiting = ItemFacts { outcome: ItemOutcome::Waiting, ..item("a") };
    let rejected = ItemFacts { outcome: ItemOutcome::Rejected("no".to_owned()), ..item("b") };
    let reason = RollBackReason::Rejected(vec![("b".to_owned(), "no".to_owned())]);
    assert_eq!(plan(&change(ChangePhase::Applying, &[waiting, rejected])), NextStep::RollBack(reason));
}

#[test]
fn without_confirmation_a_change_is_accepted_when_it_is_written() {
    let waiting = ItemFacts { outcome: ItemOutcome::Waiting, is_settled: false, ..item("a") };
    let facts = ChangeFacts { requires_confirmation: false, ..change(ChangePhase::Applying, &[waiting]) };
    assert_eq!(plan(&facts), NextStep::Accept { is_finished: false }, "its slots are not taken over yet");
}

#[test]
fn a_change_is_finished_with_its_acceptance_when_nothing_is_left_to_do() {
    let accepted = change(ChangePhase::Applying, &[item("a")]);
    assert_eq!(plan(&accepted), NextStep::Accept { is_finished: true });
    let with_deletion = change(ChangePhase::Applying, &[item("a"), deleted("b")]);
    assert_eq!(plan(&with_deletion), NextStep::Accept { is_finished: false });
}

#[test]
fn deletions_come_after_the_acceptance_and_after_the_handover() {
    let growing = ItemFacts { is_settled: false, ..item("a") };
    assert_eq!(plan(&change(ChangePhase::Accepted, &[growing, deleted("b")])), NextStep::AwaitHandover);
    assert_eq!(plan(&change(ChangePhase::Accepted, &[item("a"), deleted("b")])), NextStep::Delete(vec![1]));
    let gone = ItemFacts { exists: false, ..deleted("b") };
    assert_eq!(plan(&change(ChangePhase::Accepted, &[item("a"), gone])), NextStep::Finish(ChangePhase::Accepted));
}

#[test]
fn an_accepted_change_is_completed_whatever_happens() {
    let facts = change(ChangePhase::Accepted, &[deleted("a")]);
    let facts = ChangeFacts { is_own: false, is_abandoned: true, is_deleting: true, left: Duration::ZERO, ..facts };
    assert_eq!(plan(&facts), NextStep::Delete(vec![0]));
}

#[test]
fn before_its_acceptance_a_change_ends_with_its_process_its_caller_or_its_object() {
    let facts = |phase| change(phase, &[item("a")]);
    for phase in [ChangePhase::Pending, ChangePhase::Applying] {
        for (facts, reason) in [
            (ChangeFacts { is_own: false, ..facts(phase) }, RollBackReason::Interrupted),
            (ChangeFacts { is_deleting: true, ..facts(phase) }, RollBackReason::Deleted),
            (ChangeFacts { is_abandoned: true, ..facts(phase) }, RollBackReason::Abandoned),
        ] {
            assert_eq!(plan(&facts), NextStep::RollBack(reason));
        }
    }
}

#[test]
fn a_change_begins_with_its_first_writes() {
    let begun = |items: &[ItemFacts]| plan(&change(ChangePhase::Pending, items));
    assert_eq!(begun(&[unwritten("a", false), unwritten("b", true)]), NextStep::Begin(vec![1]));
    assert_eq!(begun(&[item("a"), unwritten("b", false)]), NextStep::Begin(vec![1]), "a process has tried before");
    assert_eq!(begun(&[item("a")]), NextStep::Begin(Vec::new()));
    let conflicting = ItemFacts { state: ItemState::Conflicting, ..item("a") };
    assert_eq!(begun(&[conflicting]), NextStep::RollBack(RollBackReason::Conflict));
}

#[test]
fn a_commitment_that_another_writer_has_changed_is_a_conflict() {
    let conflicting = ItemFacts { state: ItemState::Conflicting, ..item("a") };
    let conflict = NextStep::RollBack(RollBackReason::Conflict);
    assert_eq!(plan(&change(ChangePhase::Applying, &[unwritten("b", true), conflicting])), conflict);
    for (times, step) in [(0, NextStep::Write(vec![0])), (4, NextStep::Write(vec![0])), (5, conflict)] {
        let overwritten = ItemFacts { state: ItemState::Overwritten { times }, ..item("a") };
        assert_eq!(plan(&change(ChangePhase::Applying, &[overwritten])), step, "{times}");
    }
}

#[test]
fn undoing_restores_in_reverse_order_and_deletes_what_is_new_last() {
    let restorable = |uuid| ItemFacts { is_to_restore: true, ..item(uuid) };
    let new = ItemFacts { is_new: true, ..item("new") };
    for phase in [ChangePhase::RollingBack, ChangePhase::Failed] {
        let step = |items: &[ItemFacts]| plan(&change(phase, items));
        assert_eq!(step(&[restorable("a"), new.clone(), restorable("b")]), NextStep::Restore(vec![2, 0]));
        let lacking = ItemFacts { is_whole: false, ..item("a") };
        assert_eq!(step(&[lacking.clone(), new.clone()]), NextStep::AwaitRestored, "the new one still has its slots");
        let paused = step(&[ItemFacts { is_paused: true, ..lacking }]);
        let expected = [NextStep::Fail("a".to_owned()), NextStep::AwaitRestored];
        assert_eq!(paused, expected[usize::from(phase == ChangePhase::Failed)], "it has failed already");
        assert_eq!(step(&[item("a"), new.clone()]), NextStep::Remove(vec![1]));
        let gone = ItemFacts { exists: false, ..new.clone() };
        assert_eq!(step(&[item("a"), gone]), NextStep::Finish(ChangePhase::RolledBack));
    }
}

#[test]
fn a_change_ends_when_its_commitments_have_released_what_they_do_not_need() {
    let sent = ItemFacts { exists: false, is_settled: false, ..deleted("a") };
    assert_eq!(plan(&change(ChangePhase::Accepted, &[sent])), NextStep::AwaitHandover);
    let finish = NextStep::Finish(ChangePhase::RolledBack);
    let restored = ItemFacts { has_surplus: true, ..item("a") };
    let removed = ItemFacts { is_new: true, exists: false, is_whole: false, ..item("b") };
    for releasing in [restored, removed] {
        let paused = ItemFacts { is_paused: true, ..releasing.clone() };
        assert_eq!(plan(&change(ChangePhase::RollingBack, &[releasing])), NextStep::AwaitRestored);
        assert_eq!(plan(&change(ChangePhase::RollingBack, &[paused])), finish);
    }
}

#[test]
fn a_paused_commitment_that_keeps_what_another_one_lacks_fails_the_roll_back() {
    let lacking = ItemFacts { is_whole: false, ..item("a") };
    let paused = ItemFacts { is_paused: true, is_new: true, is_whole: false, ..item("b") };
    let items = [lacking, paused];
    assert_eq!(plan(&change(ChangePhase::RollingBack, &items)), NextStep::Fail("b".to_owned()));
    assert_eq!(plan(&change(ChangePhase::Failed, &items)), NextStep::AwaitRestored);
}
