//! Tables for `step`: the known facts, and the resulting action.

use super::*;

const ME: &str = "me";

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn record(holder: &str, version: &str, renew_time: i64) -> LeaseRecord {
    let holder = Some(holder.to_owned()).filter(|holder| !holder.is_empty());
    LeaseRecord { holder, version: version.to_owned(), duration: s(15), renew_time: Some(RenewTime(renew_time)) }
}

/// A replica that has read this after 100 s.
fn having_read(record: Option<LeaseRecord>) -> ReplicaState {
    let mut standing = ReplicaState::new(ME.to_owned());
    standing.reads(s(100));
    standing.sees(record, s(100));
    standing
}

/// A leader whose last renewal was sent at 100 s and answered at 101 s.
fn leader() -> ReplicaState {
    let mut standing = having_read(None);
    let renew_time = standing.writes(s(100), RenewTime(7));
    standing.sees(Some(record(ME, "2", renew_time.0)), s(101));
    standing
}

fn acquire(version: &str) -> Action {
    Action::Acquire(version.to_owned())
}

fn renew(version: &str) -> Action {
    Action::Renew(version.to_owned())
}

fn steps(standing: &ReplicaState, table: &[(u64, Action)]) {
    for (now, action) in table {
        assert_eq!(&standing.step(s(*now)), action, "at {now} s");
    }
}

#[test]
fn it_reads_first() {
    assert_eq!(ReplicaState::new(ME.to_owned()).step(s(0)), Action::Read);
}

#[test]
fn what_is_nobodys_is_taken_at_once() {
    steps(&having_read(None), &[(100, Action::Create), (200, Action::Create)]);
    steps(&having_read(Some(record("", "1", 0))), &[(100, acquire("1"))]);
}

#[test]
fn a_foreign_lease_is_read_every_two_seconds_and_taken_when_it_has_not_changed_for_fifteen() {
    let foreign = having_read(Some(record("other", "1", 0)));
    steps(&foreign, &[(100, Action::Wait(s(102))), (102, Action::Read), (114, Action::Read), (115, acquire("1"))]);
}

#[test]
fn a_foreign_lease_that_lasts_longer_than_ours_is_waited_for() {
    for (duration, end) in [(30, 130), (1, 115)] {
        let foreign = having_read(Some(LeaseRecord { duration: s(duration), ..record("other", "1", 0) }));
        steps(&foreign, &[(end - 1, Action::Read), (end, acquire("1"))]);
    }
}

#[test]
fn any_change_of_a_foreign_lease_shows_that_its_holder_lives() {
    let mut foreign = having_read(Some(record("other", "1", 0)));
    foreign.sees(Some(record("other", "1", 0)), s(110));
    steps(&foreign, &[(115, acquire("1"))]);
    // The same `renewTime`: its wall clock does not move, but it has written.
    foreign.sees(Some(record("other", "2", 0)), s(114));
    steps(&foreign, &[(115, Action::Read), (128, Action::Read), (129, acquire("2"))]);
}

#[test]
fn a_renewal_counts_from_its_sending() {
    let leader = leader();
    assert_eq!(leader.leads_since(), Some(s(100)));
    steps(&leader, &[(101, Action::Wait(s(102))), (102, renew("2")), (109, renew("2"))]);
    steps(&leader, &[(110, Action::Lost(Lost::NotRenewed))]);
}

#[test]
fn the_fence_closes_five_seconds_before_the_end_of_the_lease() {
    for (held, now, open) in [(None, 0, false), (Some(100), 100, true), (Some(100), 110, true), (Some(100), 111, false)]
    {
        assert_eq!(may_write(held.map(s), s(now), &TIMING), open, "{held:?} {now}");
    }
}

#[test]
fn a_leader_that_sees_another_holder_has_lost() {
    let mut leader = leader();
    leader.sees(Some(record("other", "3", 0)), s(103));
    steps(&leader, &[(103, Action::Lost(Lost::TakenBy("other".to_owned())))]);
    assert_eq!(leader.leads_since(), None);
}

#[test]
fn a_leader_takes_back_what_was_emptied_or_deleted() {
    let mut leader = leader();
    leader.sees(Some(record("", "3", 0)), s(102));
    steps(&leader, &[(102, acquire("3"))]);
    leader.sees(None, s(103));
    steps(&leader, &[(103, Action::Create), (110, Action::Lost(Lost::NotRenewed))]);
}

#[test]
fn after_a_lost_answer_it_reads_and_an_own_write_counts_from_its_sending() {
    let mut leader = leader();
    let renew_time = leader.writes(s(102), RenewTime(8));
    leader.unknown();
    steps(&leader, &[(106, Action::Read)]);
    leader.reads(s(106));
    steps(&leader, &[(107, Action::Wait(s(108))), (108, Action::Read)]);
    leader.sees(Some(record(ME, "3", renew_time.0)), s(109));
    assert_eq!(leader.leads_since(), Some(s(102)));
    steps(&leader, &[(109, renew("3")), (111, renew("3")), (112, Action::Lost(Lost::NotRenewed))]);
}

#[test]
fn a_lost_write_that_did_not_take_effect_prolongs_nothing() {
    let mut leader = leader();
    leader.writes(s(102), RenewTime(8));
    leader.unknown();
    leader.sees(Some(record(ME, "2", 7)), s(106));
    assert_eq!(leader.leads_since(), Some(s(100)));
    steps(&leader, &[(106, renew("2"))]);
}

#[test]
fn a_lost_acquisition_is_known_again_if_there_is_time_to_begin() {
    for (seen, held) in [(109, Some(s(100))), (110, None)] {
        let mut standing = having_read(None);
        let renew_time = standing.writes(s(100), RenewTime(7));
        standing.unknown();
        standing.sees(Some(record(ME, "2", renew_time.0)), s(seen));
        assert_eq!(standing.leads_since(), held);
        steps(&standing, &[(seen, renew("2"))]);
    }
}

#[test]
fn after_a_refusal_it_reads_and_knows_still_how_old_the_lease_is() {
    let mut standing = having_read(Some(record("other", "1", 0)));
    standing.writes(s(115), RenewTime(1));
    standing.refused();
    steps(&standing, &[(115, Action::Read)]);
    standing.sees(Some(record("other", "1", 0)), s(116));
    steps(&standing, &[(116, Action::Wait(s(117))), (117, acquire("1"))]);
}

#[test]
fn a_wall_clock_that_goes_back_does_not_make_two_writes_equal() {
    let mut standing = having_read(None);
    let marks = [5, 5, -9, 100].map(|wall| standing.writes(s(100), RenewTime(wall)).0);
    assert_eq!(marks, [5, 6, 7, 100]);
}

#[test]
fn a_leader_waits_for_an_answer_only_so_long_that_it_can_try_again() {
    let (leader, longest) = (leader(), s(4));
    for (now, timeout) in [(101, 4), (102, 4), (106, 2), (108, 1), (111, 0)] {
        assert_eq!(leader.remaining_time(s(now), longest), s(timeout));
    }
    assert_eq!(having_read(None).remaining_time(s(500), longest), longest);
}
