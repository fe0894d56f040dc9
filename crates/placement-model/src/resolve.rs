//! Resolves the names of a request group into numbers of the model.

use std::collections::BTreeSet;

use crate::model::{Number, Slot};
use crate::question::Group;
use crate::{ClassName, Key, Model, Refusal, TraitName};

pub fn resources(model: &Model, group: &Group) -> Result<Vec<(Number, Option<u64>)>, Refusal> {
    group.resources.iter().map(|(name, amount)| Ok((class(model, name)?, *amount))).collect()
}

fn class(model: &Model, name: &ClassName) -> Result<Number, Refusal> {
    let number = model.class(name).and_then(|_| model.class_register().find(name));
    number.ok_or_else(|| {
        Refusal::invalid(format!("Invalid resource class in resources parameter: No such resource class {name}."))
    })
}

pub fn required(model: &Model, group: &Group) -> Result<Vec<Vec<Number>>, Refusal> {
    traits(model, group.required.iter().flatten())?;
    group.required.iter().map(|set| traits(model, set)).collect()
}

pub fn forbidden(model: &Model, group: &Group) -> Result<Vec<Number>, Refusal> {
    traits(model, &group.forbidden)
}

/// Traits, ascending; all that are unknown are named.
pub fn traits<'a>(model: &Model, names: impl IntoIterator<Item = &'a TraitName>) -> Result<Vec<Number>, Refusal> {
    let (mut numbers, mut unknown) = (Vec::new(), BTreeSet::new());
    for name in names {
        match model.a_trait(name).and_then(|_| model.trait_register().find(name)) {
            Some(number) => numbers.push(number),
            None => {
                unknown.insert(name.as_str());
            }
        }
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.into_iter().collect();
        return Err(Refusal::invalid(format!("No such trait(s): {}.", names.join(", "))));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Sets of aggregates, each ascending. One that is unknown has no members.
pub fn member_of(model: &Model, group: &Group) -> Vec<Vec<Number>> {
    group.member_of.iter().map(|keys| aggregates(model, keys)).collect()
}

pub fn aggregates(model: &Model, keys: &BTreeSet<Key>) -> Vec<Number> {
    let mut numbers: Vec<_> = keys.iter().filter_map(|key| model.aggregate_register().find(key)).collect();
    numbers.sort_unstable();
    numbers
}

/// Whether a provider is in at least one aggregate of every set.
pub fn has_members(model: &Model, member_of: &[Vec<Number>]) -> bool {
    let Some((first, others)) = member_of.split_first() else { return true };
    let is_member =
        |slot: &Slot| model.record(*slot).is_some_and(|record| others.iter().all(|any| record.is_member(any)));
    first.iter().flat_map(|number| model.aggregate_register().holders(*number)).any(is_member)
}
