//! Walks through the anchors and collects requests, each once, up to a limit.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use fastrand::Rng;

use super::plan::CandidatesPlan;
use super::walk::Walk;
use crate::ProviderId;
use crate::model::{Number, Slot, Tree};
use crate::question::GenerationOptions;

/// Requests, as the slots that were chosen for them.
#[derive(Debug, Default)]
pub struct Requests<'m> {
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

pub fn requests<'m>(plan: &CandidatesPlan<'m>, most: usize, options: &GenerationOptions) -> Requests<'m> {
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
    plan: &CandidatesPlan<'m>,
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
    plan: &CandidatesPlan<'m>,
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
    fn take_alone(&mut self, plan: &CandidatesPlan<'m>, tree: &'m Tree, budget: &mut usize) -> bool {
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

// The anchors at which requests are searched, in their order. It decides which part of a question
// leaves the fewest of them; all that it leaves out cannot have a request.

/// Trees whose roots can be anchors. Lazy where the order allows it, because a limit often needs only the first.
pub fn anchors<'m>(plan: &CandidatesPlan<'m>, shuffle: Option<u64>) -> Box<dyn Iterator<Item = &'m Tree> + 'm> {
    let trees = plan.model.trees();
    let few = fewest(plan).map(|slots| roots(plan, &slots));
    let ordered: Box<dyn Iterator<Item = &'m Tree> + 'm> = match few {
        Some(few) => Box::new(few.into_iter().filter_map(|root| trees.get(&root))),
        None => Box::new(trees.values()),
    };
    match shuffle {
        Some(seed) => Box::new(Shuffled { rest: ordered.collect(), random: Rng::with_seed(seed) }),
        None => ordered,
    }
}

/// Providers, in lists of the model or of the caller.
type Lists<'m> = Vec<Cow<'m, [Slot]>>;

/// The shortest list of providers of which every request must have one, if it is much shorter than all.
fn fewest(plan: &CandidatesPlan<'_>) -> Option<Vec<Slot>> {
    let (mut best, mut bound) = (None, plan.model.trees().len() / 4);
    for lists in necessary(plan) {
        if let Some(cost) = cost(plan, &lists, bound) {
            bound = cost;
            best = Some(lists);
        }
    }
    best.map(|lists| lists.concat())
}

/// Providers of which every request must have one: of each class, of each set of traits or aggregates, of each tree.
fn necessary<'m>(plan: &CandidatesPlan<'m>) -> Vec<Lists<'m>> {
    let model = plan.model;
    let of_class = |class: Number| vec![Cow::Borrowed(model.class_register().holders(class))];
    let of_traits = |set: &Vec<Number>| -> Lists<'m> {
        set.iter().map(|number| Cow::Borrowed(model.trait_register().holders(*number))).collect()
    };
    let of_aggregates = |set: &Vec<Number>| -> Lists<'m> {
        set.iter().map(|number| Cow::Borrowed(model.aggregate_register().holders(*number))).collect()
    };
    let of_tree = |tree: &Tree| vec![Cow::Owned(tree.members.iter().map(|member| member.1).collect())];
    let mut all: Vec<Lists<'m>> = plan.required_of_root().iter().map(of_traits).collect();
    for group in &plan.groups {
        all.extend(group.resources.iter().map(|resource| of_class(resource.0)));
        all.extend(group.required.iter().map(of_traits));
        all.extend(group.member_of.iter().map(of_aggregates));
        all.extend(group.tree.and_then(|root| model.trees().get(&root)).map(of_tree));
    }
    all
}

/// How many providers must be read to find the anchors of these; `None`: at least `bound`.
fn cost(plan: &CandidatesPlan<'_>, lists: &Lists<'_>, bound: usize) -> Option<usize> {
    let mut cost: usize = lists.iter().map(|list| list.len()).sum();
    if cost >= bound {
        return None;
    }
    for record in lists.iter().flat_map(|list| list.iter()).filter_map(|slot| plan.model.record(*slot)) {
        if record.shares {
            let register = plan.model.aggregate_register();
            cost += record.aggregates.iter().map(|aggregate| register.holders(*aggregate).len()).sum::<usize>();
        }
    }
    (cost < bound).then_some(cost)
}

/// Their roots and, of sharing ones, their anchors, in the order of creation.
fn roots(plan: &CandidatesPlan<'_>, slots: &[Slot]) -> Vec<ProviderId> {
    let mut roots = Vec::with_capacity(slots.len());
    for record in slots.iter().filter_map(|slot| plan.model.record(*slot)) {
        roots.push(record.root);
        if record.shares {
            let register = plan.model.aggregate_register();
            let near = record.aggregates.iter().flat_map(|aggregate| register.holders(*aggregate));
            roots.extend(near.filter_map(|slot| Some(plan.model.record(*slot)?.root)));
        }
    }
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// Draws one after the other.
struct Shuffled<'m> {
    rest: Vec<&'m Tree>,
    random: Rng,
}

impl<'m> Iterator for Shuffled<'m> {
    type Item = &'m Tree;

    fn next(&mut self) -> Option<&'m Tree> {
        if self.rest.is_empty() {
            return None;
        }
        let place = self.random.usize(..self.rest.len());
        Some(self.rest.swap_remove(place))
    }
}
