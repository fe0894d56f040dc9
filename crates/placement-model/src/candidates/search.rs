//! Goes through anchors and collects requests, each once, up to a number. It decides in which order they are generated (the
//! strategy of document 51 section 12.4) and when it was enough.

use std::collections::{BTreeSet, VecDeque};

use super::{anchors::anchors, plan::Plan, walk::Walk};
use crate::{
    model::{Slot, Tree},
    question::GenerationOptions,
};

/// Requests, as the slots that were chosen for them.
#[derive(Debug, Default)]
pub struct Requests<'m> {
    /// How many.
    pub count: usize,
    /// For each request the slot of each level.
    pub chosen: Vec<Slot>,
    /// Anchors, each with the first request that was found at it.
    pub runs: Vec<(usize, &'m Tree)>,
    /// Whether the budget of combinations was used up.
    pub is_exhausted: bool,
    /// Requests that another anchor may have as well.
    repeatable: BTreeSet<Vec<Slot>>,
}

/// At most `most` requests.
pub fn requests<'m>(plan: &Plan<'m>, most: usize, options: &GenerationOptions) -> Requests<'m> {
    let mut requests = Requests::default();
    let mut budget = options.most_combinations;
    if most > 0 {
        if options.breadth_first {
            breadth_first(plan, most, options, &mut budget, &mut requests);
        } else {
            depth_first(plan, most, options, &mut budget, &mut requests);
        }
    }
    requests.is_exhausted = budget == 0 && requests.count < most;
    requests
}

fn depth_first<'m>(
    plan: &Plan<'m>,
    most: usize,
    options: &GenerationOptions,
    budget: &mut usize,
    requests: &mut Requests<'m>,
) {
    let (mut reused, is_simple): (Option<Walk<'m>>, _) = (None, plan.is_simple());
    for tree in anchors(plan, options.shuffle) {
        if is_simple && requests.take_alone(plan, tree, budget) {
            if requests.count == most || *budget == 0 {
                return;
            }
            continue;
        }
        let walk = reused.get_or_insert_with(|| Walk::new(plan, tree));
        if !walk.start(plan, tree) {
            continue;
        }
        while walk.advance(plan, budget) {
            requests.add(walk);
            if requests.count == most {
                return;
            }
        }
        if *budget == 0 {
            return;
        }
    }
}

fn breadth_first<'m>(
    plan: &Plan<'m>,
    most: usize,
    options: &GenerationOptions,
    budget: &mut usize,
    requests: &mut Requests<'m>,
) {
    let (mut again, is_simple) = (VecDeque::new(), plan.is_simple());
    for tree in anchors(plan, options.shuffle) {
        if !(is_simple && requests.take_alone(plan, tree, budget)) {
            let mut walk = Walk::new(plan, tree);
            if walk.start(plan, tree) && walk.advance(plan, budget) {
                requests.add(&walk);
                again.push_back(walk);
            }
        }
        if requests.count == most || *budget == 0 {
            return;
        }
    }
    while let Some(mut walk) = again.pop_front() {
        if walk.advance(plan, budget) {
            requests.add(&walk);
            again.push_back(walk);
        }
        if requests.count == most || *budget == 0 {
            return;
        }
    }
}

impl<'m> Requests<'m> {
    /// The request of a tree that has only one provider, if there is one. `false`: it has more. Only for simple plans.
    fn take_alone(&mut self, plan: &Plan<'m>, tree: &'m Tree, budget: &mut usize) -> bool {
        let [(_, slot)] = *tree.members else { return false };
        if plan.model.record(slot).is_some_and(|record| plan.suits_alone(record)) {
            *budget -= 1;
            self.runs.push((self.count, tree));
            self.chosen.extend(std::iter::repeat_n(slot, plan.levels.len()));
            self.count += 1;
        }
        true
    }

    fn add(&mut self, walk: &Walk<'m>) {
        if walk.may_repeat() && !self.repeatable.insert(walk.chosen().collect()) {
            return;
        }
        if self.runs.last().is_none_or(|run| !std::ptr::eq(run.1, walk.tree)) {
            self.runs.push((self.count, walk.tree));
        }
        self.chosen.extend(walk.chosen());
        self.count += 1;
    }
}
