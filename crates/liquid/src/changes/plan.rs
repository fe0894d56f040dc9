//! The next step of a change: a function of the change, its commitments and the time.

use std::time::Duration;

use berth_crds::commitment_change::ChangePhase;

use super::ItemOutcome;

/// How often a spec is written again that another writer has overwritten.
const MAX_OVERWRITES: u32 = 5;

/// A change and its commitments, as far as its next step depends on them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct ChangeFacts {
    pub phase: ChangePhase,
    pub is_finished: bool,
    /// This process executes it; otherwise the process that did has ended.
    pub is_own: bool,
    pub is_abandoned: bool,
    /// A user deletes the object.
    pub is_deleting: bool,
    /// What is left until its deadline; zero when it has passed.
    pub left: Duration,
    pub requires_confirmation: bool,
    /// The commitments or the slots cannot be read, so that one that is missing may exist.
    pub is_unread: bool,
    /// In the order of the writes.
    pub items: Vec<ItemFacts>,
}

/// One commitment of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct ItemFacts {
    pub uuid: String,
    /// Written before all others, because it releases capacity.
    pub releases: bool,
    /// Deleted after the change was accepted.
    pub is_deleted_at_end: bool,
    pub state: ItemState,
    pub outcome: ItemOutcome,
    /// The controller of commitments has decided about the present spec, or released what was deleted, or will not.
    pub is_settled: bool,
    /// It exists and is not being deleted.
    pub exists: bool,
    /// While the change is undone: whether its spec or its existence is still that of the change, and whether it has its
    /// slots back, or none if it is new.
    pub is_to_restore: bool,
    pub is_whole: bool,
    /// It is as before the change, but has more slots than it needs.
    pub has_surplus: bool,
    /// It is left exactly as it is until its pause ends.
    pub is_paused: bool,
    /// It exists only because of the change.
    pub is_new: bool,
}

/// How a commitment relates to what the change writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// Nothing is written to it, or it has the spec of the change.
    AsWanted,
    /// It is as it was when the request was admitted.
    AsBefore,
    /// The change has written it, and another writer has changed it since.
    Overwritten { times: u32 },
    /// Another writer has changed it since the request was admitted.
    Conflicting,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing is left to do.
    Nothing,
    /// Waits until the commitments and their slots can be read.
    AwaitRead,
    /// Writes these items together with the first status: one does not wait for the other.
    Begin(Vec<usize>),
    /// Writes the specs of these items.
    Write(Vec<usize>),
    /// Waits for outcomes, at most this long.
    AwaitOutcomes(Duration),
    /// The commit point.
    Accept {
        is_finished: bool,
    },
    /// Waits until the commitments that grow have taken over what the others release, and what was deleted is released.
    AwaitHandover,
    Delete(Vec<usize>),
    RollBack(RollBackReason),
    /// Restores these items, the last one first.
    Restore(Vec<usize>),
    AwaitRestored,
    /// This commitment cannot be restored before its pause ends; other changes of the zone need not wait for that.
    Fail(String),
    /// Deletes what exists only because of the change.
    Remove(Vec<usize>),
    Finish(ChangePhase),
}

/// Why a change is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollBackReason {
    Timeout,
    Abandoned,
    /// The process that executed it has ended.
    Interrupted,
    Deleted,
    Conflict,
    /// The API server does not take an object.
    Refused(String),
    Rejected(Vec<(String, String)>),
}

/// The next step of the change.
pub fn plan(facts: &ChangeFacts) -> NextStep {
    match facts.phase {
        _ if facts.is_finished => NextStep::Nothing,
        ChangePhase::RolledBack => NextStep::Finish(ChangePhase::RolledBack),
        ChangePhase::Pending | ChangePhase::Applying => {
            facts.find_end().map_or_else(|| facts.go_on(), NextStep::RollBack)
        }
        ChangePhase::Accepted | ChangePhase::RollingBack | ChangePhase::Failed => facts.go_on(),
    }
}

impl ChangeFacts {
    /// Why a change that is not accepted cannot go on. The deadline is checked last, because it is the least precise.
    fn find_end(&self) -> Option<RollBackReason> {
        let reasons = [
            (!self.is_own, RollBackReason::Interrupted),
            (self.is_deleting, RollBackReason::Deleted),
            (self.is_abandoned, RollBackReason::Abandoned),
            (self.left.is_zero(), RollBackReason::Timeout),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    }

    fn go_on(&self) -> NextStep {
        match self.phase {
            _ if self.is_unread => NextStep::AwaitRead,
            ChangePhase::Pending => self.begin(),
            ChangePhase::Applying => self.apply(),
            ChangePhase::Accepted => self.complete(),
            ChangePhase::RollingBack | ChangePhase::Failed | ChangePhase::RolledBack => self.undo(),
        }
    }

    fn begin(&self) -> NextStep {
        match self.apply() {
            NextStep::Write(places) => NextStep::Begin(places),
            roll_back @ NextStep::RollBack(_) => roll_back,
            _ => NextStep::Begin(Vec::new()),
        }
    }

    /// Those that release are written before those that grow; an item whose spec was overwritten is written again.
    fn apply(&self) -> NextStep {
        let has_conflict = self.items.iter().any(|item| match item.state {
            ItemState::Conflicting => true,
            ItemState::Overwritten { times } => times >= MAX_OVERWRITES,
            ItemState::AsWanted | ItemState::AsBefore => false,
        });
        if has_conflict {
            return NextStep::RollBack(RollBackReason::Conflict);
        }
        let missing = |releases: bool| {
            let items = self.items.iter().enumerate();
            items.filter(move |(_, item)| item.releases == releases && item.state != ItemState::AsWanted)
        };
        let first: Vec<_> = missing(true).map(|(place, _)| place).collect();
        let writes = if first.is_empty() { missing(false).map(|(place, _)| place).collect() } else { first };
        if !writes.is_empty() {
            return NextStep::Write(writes);
        }
        if self.requires_confirmation { self.confirm() } else { self.accept() }
    }

    /// The first rejection ends the waiting.
    fn confirm(&self) -> NextStep {
        let rejected: Vec<_> = self.items.iter().filter_map(ItemFacts::rejection).collect();
        if !rejected.is_empty() {
            return NextStep::RollBack(RollBackReason::Rejected(rejected));
        }
        let is_waiting = self.items.iter().any(|item| item.outcome == ItemOutcome::Waiting);
        if is_waiting { NextStep::AwaitOutcomes(self.left) } else { self.accept() }
    }

    fn accept(&self) -> NextStep {
        NextStep::Accept { is_finished: self.is_complete() }
    }

    fn is_complete(&self) -> bool {
        self.items.iter().all(|item| item.is_settled && !(item.is_deleted_at_end && item.exists))
    }

    fn complete(&self) -> NextStep {
        if self.items.iter().any(|item| !item.is_deleted_at_end && !item.is_settled) {
            return NextStep::AwaitHandover;
        }
        match self.places(|item| item.is_deleted_at_end && item.exists) {
            deletions if !deletions.is_empty() => NextStep::Delete(deletions),
            _ if !self.is_complete() => NextStep::AwaitHandover,
            _ => NextStep::Finish(ChangePhase::Accepted),
        }
    }

    /// The commitments from before the change get their specs and slots back before the new ones are deleted, because what
    /// those release would go to others.
    fn undo(&self) -> NextStep {
        let mut to_restore = self.places(|item| item.is_to_restore);
        if !to_restore.is_empty() {
            to_restore.reverse();
            return NextStep::Restore(to_restore);
        }
        let lacks = |item: &&ItemFacts| !item.is_new && !item.is_whole;
        if self.items.iter().any(|item| lacks(&item)) {
            // A paused one may also keep what another one lacks.
            let keeps = |item: &&ItemFacts| item.is_paused && item.exists && (item.is_new || lacks(item));
            let paused = self.items.iter().find(keeps).filter(|_| self.phase != ChangePhase::Failed);
            return paused.map_or(NextStep::AwaitRestored, |item| NextStep::Fail(item.uuid.clone()));
        }
        match self.places(|item| item.is_new && item.exists) {
            new if !new.is_empty() => NextStep::Remove(new),
            // The next change of the zone may need what they release.
            _ if self.items.iter().any(ItemFacts::is_releasing) => NextStep::AwaitRestored,
            _ => NextStep::Finish(ChangePhase::RolledBack),
        }
    }

    fn places(&self, is_wanted: impl Fn(&ItemFacts) -> bool) -> Vec<usize> {
        self.items.iter().enumerate().filter(|(_, item)| is_wanted(item)).map(|(place, _)| place).collect()
    }
}

impl ItemFacts {
    /// Whether a roll-back has left slots to it that it does not need.
    fn is_releasing(&self) -> bool {
        !self.is_paused && (self.has_surplus || self.is_new && !self.is_whole)
    }

    fn rejection(&self) -> Option<(String, String)> {
        match &self.outcome {
            ItemOutcome::Rejected(why) => Some((self.uuid.clone(), why.clone())),
            ItemOutcome::Waiting | ItemOutcome::Accepted => None,
        }
    }
}

#[cfg(test)]
mod tests;
