//! Which providers can be chosen at each level of a plan, at one anchor.

use super::plan::{CandidatesPlan, Level};
use crate::model::{Record, Slot, Tree};

/// A provider that can be chosen at a level.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'m> {
    pub slot: Slot,
    pub record: &'m Record,
    /// Which required sets of an unsuffixed group it meets, a bit each.
    pub met: u64,
}

/// Fills a list for each level, in the order of creation. `false`: nothing can be chosen at one of them.
pub fn fill<'m>(plan: &CandidatesPlan<'m>, tree: &Tree, lists: &mut [Vec<Choice<'m>>]) -> bool {
    let Some(anchor) = tree.find(tree.root).and_then(|slot| plan.model.record(slot)) else { return false };
    if !plan.allows(anchor) {
        return false;
    }
    plan.levels.iter().zip(lists).all(|(level, list)| {
        list.clear();
        fill_level(plan, level, tree, anchor, list);
        !list.is_empty()
    })
}

fn fill_level<'m>(plan: &CandidatesPlan<'m>, level: &Level, tree: &Tree, anchor: &Record, list: &mut Vec<Choice<'m>>) {
    let group = &plan.groups[level.group];
    let is_unsuffixed = group.is_unsuffixed();
    if is_unsuffixed && group.is_refused(anchor) {
        return;
    }
    let needs_membership = is_unsuffixed && !group.is_member(anchor);
    let choice = |slot, record| Choice { slot, record, met: if is_unsuffixed { group.met(record) } else { 0 } };
    for (_, slot) in tree.members.iter() {
        let Some(record) = plan.model.record(*slot) else { continue };
        if group.suits(level, record) && (!needs_membership || group.is_member(record)) {
            list.push(choice(*slot, record));
        }
    }
    if level.shared.is_empty() {
        return;
    }
    let own = list.len();
    for slot in shared(plan, level, tree) {
        list.extend(plan.model.record(slot).map(|record| choice(slot, record)));
    }
    if list.len() > own {
        list.sort_unstable_by_key(|choice| choice.record.id);
        list.dedup_by_key(|choice| choice.slot);
    }
}

/// Sharing providers that have an aggregate in common with a member of the tree.
fn shared(plan: &CandidatesPlan<'_>, level: &Level, tree: &Tree) -> impl Iterator<Item = Slot> {
    let records = tree.members.iter().filter_map(|member| plan.model.record(member.1));
    let aggregates = records.flat_map(|record| record.aggregates.iter().copied());
    aggregates.flat_map(|aggregate| {
        let start = level.shared.partition_point(|pair| pair.0 < aggregate);
        level.shared[start..].iter().take_while(move |pair| pair.0 == aggregate).map(|pair| pair.1)
    })
}
