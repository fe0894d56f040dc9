//! Walks through the choices at one anchor, in the order of levels and of creation, and leaves a combination at the
//! first level that rules it out.

use super::lists::{self, Choice};
use super::plan::{CandidatesPlan, Level};
use crate::ProviderId;
use crate::model::{Number, Slot, Tree};

/// Where a walk through the combinations of one anchor is.
#[derive(Debug)]
pub struct Walk<'m> {
    pub tree: &'m Tree,
    lists: Vec<Vec<Choice<'m>>>,
    /// The requirements that later levels can still meet, by level.
    ahead: Vec<u64>,
    path: Vec<Step<'m>>,
    /// The place in its list that is tried next, by level; one more than `path`.
    next: Vec<usize>,
    /// The amounts taken so far of a class of a provider; the last entry counts.
    taken: Vec<(Slot, Number, u64)>,
}

/// One choice that was made.
#[derive(Debug, Clone, Copy)]
struct Step<'m> {
    choice: Choice<'m>,
    /// The requirements that the group has met so far.
    met: u64,
    taken: usize,
}

impl<'m> Walk<'m> {
    /// A walk without an anchor, to be [started](Self::start).
    pub fn new(plan: &CandidatesPlan<'m>, tree: &'m Tree) -> Self {
        Self {
            tree,
            lists: vec![Vec::new(); plan.levels.len()],
            ahead: vec![0; plan.levels.len() + 1],
            path: Vec::with_capacity(plan.levels.len()),
            next: vec![0],
            taken: Vec::new(),
        }
    }

    /// Restarts at an anchor. `false` if there is nothing to walk.
    pub fn start(&mut self, plan: &CandidatesPlan<'m>, tree: &'m Tree) -> bool {
        self.tree = tree;
        self.path.clear();
        self.next.clear();
        self.next.push(0);
        self.taken.clear();
        lists::fill(plan, tree, &mut self.lists) && self.check_ahead(plan)
    }

    /// `false`: a group cannot meet its required sets whatever is chosen.
    fn check_ahead(&mut self, plan: &CandidatesPlan<'m>) -> bool {
        for (place, level) in plan.levels.iter().enumerate().rev() {
            let later = if level.is_last { 0 } else { self.ahead[place + 1] };
            self.ahead[place] = self.lists[place].iter().fold(later, |met, choice| met | choice.met);
            let is_first = place == 0 || plan.levels[place - 1].is_last;
            let group = &plan.groups[level.group];
            if is_first && group.is_unsuffixed() && self.ahead[place] != group.all_met() {
                return false;
            }
        }
        true
    }

    /// The slots of the combination that [`Self::advance`] found.
    pub fn chosen(&self) -> impl Iterator<Item = Slot> {
        self.path.iter().map(|step| step.choice.slot)
    }

    /// Whether another anchor may have the same combination: only when all providers are sharing ones.
    pub fn may_repeat(&self) -> bool {
        self.path.iter().all(|step| step.choice.record.shares)
    }

    /// Goes to the next combination. `false` if there is none, or if `budget` is used up; each combination that is
    /// found or ruled out takes one of it.
    pub fn advance(&mut self, plan: &CandidatesPlan<'m>, budget: &mut usize) -> bool {
        if self.path.len() == plan.levels.len() && !self.back() {
            return false;
        }
        while *budget > 0 {
            let level = self.path.len();
            let Some(choice) = self.take_next(level) else {
                if self.back() {
                    continue;
                }
                return false;
            };
            if !self.enter(plan, level, choice) {
                *budget -= 1;
            } else if self.path.len() == plan.levels.len() {
                *budget -= 1;
                return true;
            }
        }
        false
    }

    fn take_next(&mut self, level: usize) -> Option<Choice<'m>> {
        let place = self.next.get_mut(level)?;
        let choice = self.lists.get(level)?.get(*place)?;
        *place += 1;
        Some(*choice)
    }

    /// Takes the last choice back. `false` if there is none.
    fn back(&mut self) -> bool {
        let Some(step) = self.path.pop() else { return false };
        self.taken.truncate(step.taken);
        self.next.truncate(self.path.len() + 1);
        true
    }

    /// Makes a choice, unless it rules the combination out.
    fn enter(&mut self, plan: &CandidatesPlan<'m>, place: usize, choice: Choice<'m>) -> bool {
        let level = &plan.levels[place];
        let met = self.met(plan, place, choice);
        if !self.can_meet(plan, place, met)
            || plan.isolate && self.shares_a_provider(plan, level, choice)
            || plan.one_per_tree && self.shares_a_tree(plan, level, choice)
        {
            return false;
        }
        let taken = self.taken.len();
        if plan.overlaps && !self.take(level, choice) {
            self.taken.truncate(taken);
            return false;
        }
        self.path.push(Step { choice, met, taken });
        if !self.is_in_subtrees(plan, place) || level.is_last && !self.meets_rest(plan, level) {
            self.back();
            return false;
        }
        self.next.push(0);
        true
    }

    fn met(&self, plan: &CandidatesPlan<'_>, place: usize, choice: Choice<'_>) -> u64 {
        let before = self.path.last().filter(|_| place > 0 && !plan.levels[place - 1].is_last);
        before.map_or(0, |step| step.met) | choice.met
    }

    fn can_meet(&self, plan: &CandidatesPlan<'_>, place: usize, met: u64) -> bool {
        let level = &plan.levels[place];
        let group = &plan.groups[level.group];
        let later = if level.is_last { 0 } else { self.ahead[place + 1] };
        !group.is_unsuffixed() || met | later == group.all_met()
    }

    /// Required sets of an unsuffixed group beyond the 64 that have a bit.
    fn meets_rest(&self, plan: &CandidatesPlan<'_>, level: &Level) -> bool {
        let group = &plan.groups[level.group];
        let steps = || self.path.iter().zip(&plan.levels).filter(|pair| pair.1.group == level.group);
        let is_met = |any: &Vec<Number>| steps().any(|(step, _)| step.choice.record.has_trait(any));
        !group.is_unsuffixed() || group.required.iter().skip(64).all(is_met)
    }

    fn shares_a_provider(&self, plan: &CandidatesPlan<'_>, level: &Level, choice: Choice<'_>) -> bool {
        let is_suffixed = |level: &Level| !plan.groups[level.group].is_unsuffixed();
        let mut others = self.path.iter().zip(&plan.levels).filter(|pair| is_suffixed(pair.1));
        is_suffixed(level) && others.any(|(step, _)| step.choice.slot == choice.slot)
    }

    fn shares_a_tree(&self, plan: &CandidatesPlan<'_>, level: &Level, choice: Choice<'_>) -> bool {
        let mut others = self.path.iter().zip(&plan.levels).filter(|pair| !pair.1.resources.is_empty());
        let is_near =
            |step: &Step<'_>| step.choice.slot != choice.slot && step.choice.record.root == choice.record.root;
        !level.resources.is_empty() && others.any(|(step, _)| is_near(step))
    }

    /// Adds up the amounts taken of the provider; `false` if it is too much.
    fn take(&mut self, level: &Level, choice: Choice<'_>) -> bool {
        level.resources.iter().all(|(class, amount)| {
            let before = self.taken.iter().rev().find(|taken| taken.0 == choice.slot && taken.1 == *class);
            let sum = before.map_or(0, |taken| taken.2).saturating_add(*amount);
            let is_first = before.is_none();
            self.taken.push((choice.slot, *class, sum));
            is_first
                || choice.record.held(*class).is_some_and(|held| {
                    let used = i64::try_from(held.used.saturating_add(sum)).unwrap_or(i64::MAX);
                    used <= held.inventory.capacity() && sum <= held.inventory.max_unit
                })
        })
    }

    /// Whether the lists of `same_subtree` that end with this level hold.
    fn is_in_subtrees(&self, plan: &CandidatesPlan<'_>, place: usize) -> bool {
        let complete = plan.subtrees.iter().filter(|levels| levels.iter().max() == Some(&place));
        complete.into_iter().all(|levels| {
            let member = |level: &usize| self.path[*level].choice;
            levels.iter().any(|top| levels.iter().all(|level| is_above(plan, member(top), member(level))))
        })
    }
}

/// Whether `top` is `choice` or an ancestor of it.
fn is_above(plan: &CandidatesPlan<'_>, top: Choice<'_>, choice: Choice<'_>) -> bool {
    if top.record.root != choice.record.root {
        return false;
    }
    let above = |id: &ProviderId| plan.model.record(plan.model.slot(*id)?)?.parent;
    // A tree is never deeper than it has members, even if it were no tree.
    let mut path = std::iter::successors(Some(choice.record.id), above).take(plan.model.len());
    path.any(|id| id == top.record.id)
}
