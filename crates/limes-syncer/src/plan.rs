//! Plan: what is done with one commitment, or why nothing is. A function of facts.

use std::time::Duration;

use berth_core::commitment::{Phase, Spec, State};
use berth_core::liquid::conversion::{convert, superseded};
use jiff::Timestamp;
use strum::IntoStaticStr;

use crate::filter::{SkipReason, UsableCommitment};
use crate::history::Unlisted;
use crate::view::{Entry, Listing, ViewProof};

/// A change must be so old before a view that does not list its commitment means anything: Limes commits after our answer,
/// and after a run of confirmations minutes later.
pub const CHANGE_SETTLES: Duration = Duration::from_secs(600);

/// A commitment, as the newest view and our objects show it.
#[derive(Clone, Debug)]
pub struct SyncFacts<'a> {
    /// `None`: the view does not list it.
    pub listed: Option<&'a Entry>,
    /// The proof that the view is complete, if it is.
    pub complete: Option<ViewProof>,
    /// The proof that three complete views have not listed it, if they have not.
    pub unlisted: Option<Unlisted>,
    pub stored: StoredCommitment,
    /// It was created, changed or deleted after the fetch of its project began.
    pub has_changed: bool,
    pub change: ChangeState,
    /// The time, while it can be trusted.
    pub now: Option<Timestamp>,
    /// `endStaleCommitments`.
    pub ends_stale: bool,
}

/// Our objects with the UUID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredCommitment {
    /// That there is none is proven.
    Absent,
    One(StoredFacts),
    /// They contradict each other.
    Several,
}

/// Our object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct StoredFacts {
    pub spec: Spec,
    /// A change has created it, and Limes has not listed it since.
    pub is_not_yet_listed: bool,
    /// When it was created, or when the last change that named it ended.
    pub last_change: Timestamp,
    pub is_being_deleted: bool,
    pub is_paused: bool,
    /// It may be rejected, and its controller has not decided about its present spec.
    pub is_undecided: bool,
    /// It is of the scheduling domain that we serve.
    pub is_served: bool,
}

/// The changes that name the commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeState {
    None,
    Open,
    /// The last one ended shortly before the fetch of its project began, or later.
    Recent,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncPlan {
    Keep(KeepReason),
    Create(UsableSpec),
    /// The spec is written, and the commitment is not marked as unlisted any more.
    Patch(UsableSpec),
    End(EndReason),
    /// It has ended.
    Delete(ViewProof),
}

/// A spec that follows from a listed commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableSpec {
    pub spec: Spec,
    pub confirmed_at: Option<Timestamp>,
}

/// Why a commitment is set to superseded. Only three complete views without it give one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndReason {
    pub kind: EndKind,
    pub unlisted: Unlisted,
    pub spec: Spec,
}

/// Whether Limes has ever listed the commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum EndKind {
    /// A change has created it, and Limes has never listed it.
    UnknownToLimes,
    Stale,
}

/// Why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum KeepReason {
    UpToDate,
    /// It has ended in Limes, and we have no object.
    Ended,
    /// Neither Limes nor we have it.
    Absent,
    Skipped(SkipReason),
    ClockUntrusted,
    SeveralObjects,
    ChangedSince,
    OpenChange,
    RecentChange,
    BeingDeleted,
    Paused,
    Undecided,
    ZoneDiffers,
    ResourceDiffers,
    /// It is of another scheduling domain.
    NotServed,
    /// The view does not list it, and is incomplete.
    IncompleteView,
    /// Complete views do not list it, and nothing is to be concluded from that yet, or at all.
    Missing,
}

/// What is done with the commitment.
pub fn plan(facts: &SyncFacts<'_>) -> SyncPlan {
    let now = match (facts.now, find_obstacle(facts)) {
        (None, _) => return SyncPlan::Keep(KeepReason::ClockUntrusted),
        (_, Some(obstacle)) => return SyncPlan::Keep(obstacle),
        (Some(now), None) => now,
    };
    match (facts.listed.map(|entry| &entry.listing), &facts.stored) {
        (_, StoredCommitment::Several) => SyncPlan::Keep(KeepReason::SeveralObjects),
        (Some(Listing::Skipped(_)), StoredCommitment::One(stored)) if stored.is_not_yet_listed => unmark(stored),
        (Some(Listing::Skipped(reason)), _) => SyncPlan::Keep(KeepReason::Skipped(*reason)),
        (Some(Listing::Usable(usable)), StoredCommitment::Absent) => create(usable, now),
        (Some(Listing::Usable(usable)), StoredCommitment::One(stored)) => compare(usable, stored, facts, now),
        (None, StoredCommitment::Absent) => SyncPlan::Keep(KeepReason::Absent),
        (None, StoredCommitment::One(stored)) => conclude(stored, facts, now),
    }
}

/// Why the commitment must not be touched, whatever Limes lists.
fn find_obstacle(facts: &SyncFacts<'_>) -> Option<KeepReason> {
    match facts.change {
        ChangeState::Open => return Some(KeepReason::OpenChange),
        ChangeState::Recent => return Some(KeepReason::RecentChange),
        ChangeState::None => {}
    }
    if facts.has_changed {
        return Some(KeepReason::ChangedSince);
    }
    let StoredCommitment::One(stored) = &facts.stored else { return None };
    let obstacles = [
        (stored.is_being_deleted, KeepReason::BeingDeleted),
        (stored.is_paused, KeepReason::Paused),
        (stored.is_undecided, KeepReason::Undecided),
        (!stored.is_served, KeepReason::NotServed),
    ];
    obstacles.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
}

fn unmark(stored: &StoredFacts) -> SyncPlan {
    SyncPlan::Patch(UsableSpec { spec: stored.spec.clone(), confirmed_at: None })
}

fn create(usable: &UsableCommitment, now: Timestamp) -> SyncPlan {
    let spec = convert(&usable.commitment, None, now, false);
    if has_ended(&spec, now) {
        return SyncPlan::Keep(KeepReason::Ended);
    }
    SyncPlan::Create(UsableSpec { spec, confirmed_at: usable.confirmed_at })
}

fn compare(usable: &UsableCommitment, stored: &StoredFacts, facts: &SyncFacts<'_>, now: Timestamp) -> SyncPlan {
    let (old, listed) = (&stored.spec, &usable.commitment);
    if !old.zone.is_empty() && old.zone != listed.zone {
        return SyncPlan::Keep(KeepReason::ZoneDiffers);
    }
    if old.resource != listed.resource {
        return SyncPlan::Keep(KeepReason::ResourceDiffers);
    }
    let spec = convert(listed, Some(old), now, old.allow_rejection);
    if spec != *old || stored.is_not_yet_listed {
        return SyncPlan::Patch(UsableSpec { spec, confirmed_at: usable.confirmed_at });
    }
    match &facts.complete {
        Some(proof) if is_over(old, now) => SyncPlan::Delete(proof.clone()),
        _ => SyncPlan::Keep(KeepReason::UpToDate),
    }
}

/// Decides about a commitment that is not listed.
fn conclude(stored: &StoredFacts, facts: &SyncFacts<'_>, now: Timestamp) -> SyncPlan {
    let Some(proof) = &facts.complete else { return SyncPlan::Keep(KeepReason::IncompleteView) };
    if is_over(&stored.spec, now) {
        return SyncPlan::Delete(proof.clone());
    }
    if has_ended(&stored.spec, now) {
        return SyncPlan::Keep(KeepReason::Ended);
    }
    let Some(unlisted) = &facts.unlisted else { return SyncPlan::Keep(KeepReason::Missing) };
    let kind = match stored.is_not_yet_listed {
        true if has_settled(stored, unlisted) => EndKind::UnknownToLimes,
        false if facts.ends_stale => EndKind::Stale,
        _ => return SyncPlan::Keep(KeepReason::Missing),
    };
    SyncPlan::End(EndReason { kind, unlisted: unlisted.clone(), spec: superseded(&stored.spec) })
}

fn has_settled(stored: &StoredFacts, unlisted: &Unlisted) -> bool {
    stored.last_change.saturating_add(CHANGE_SETTLES).is_ok_and(|settled| settled <= unlisted.since())
}

fn is_over(spec: &Spec, now: Timestamp) -> bool {
    spec.end.is_some_and(|end| end <= now)
}

fn has_ended(spec: &Spec, now: Timestamp) -> bool {
    is_over(spec, now)
        || matches!(spec.phase(now), Phase::Ended(_))
        || matches!(spec.state, State::Superseded | State::Expired)
}

#[cfg(test)]
mod tests;
