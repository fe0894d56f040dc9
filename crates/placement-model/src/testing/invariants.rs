//! The invariants of a ledger, computed from its rows, independently of how writes are decided.

use std::collections::{BTreeMap, BTreeSet};

use super::MemoryState;
use crate::{ClassName, ProviderId, ProviderState};

/// The violations in a state.
pub fn violations(state: &MemoryState) -> Vec<String> {
    let checks = [usage(state), consumers(state), trees(state), names(state)];
    checks.into_iter().flatten().collect()
}

/// The violations in a step from one committed state to the next.
pub fn violations_of_change(before: &MemoryState, after: &MemoryState) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, now) in &after.providers {
        let Some(then) = before.providers.get(id) else { continue };
        if now.generation < then.generation {
            wrong.push(format!("generation of {} shrank from {} to {}", now.uuid, then.generation, now.generation));
        }
    }
    for (key, (now, _)) in &after.consumers {
        let then = before.consumers.get(key).map_or(0, |(then, _)| then.generation);
        if now.generation < then || now.generation > then + 1 {
            wrong.push(format!("generation of consumer {key} went from {then} to {}", now.generation));
        }
    }
    wrong.extend(capacity(before, after));
    wrong
}

/// Usage may exceed the capacity only where it did before, and must not grow there.
fn capacity(before: &MemoryState, after: &MemoryState) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, provider) in &after.providers {
        for (class, held) in &provider.inventories {
            let then = before.providers.get(id).zip(former(before, after, class));
            let then = then.and_then(|(then, class)| then.inventories.get(class)).map_or(0, |then| then.used);
            if held.used > then && !held.inventory.has_capacity(held.used, 0) {
                let uuid = &provider.uuid;
                wrong.push(format!("{class} of {uuid} grew from {then} to {} of {:?}", held.used, held.inventory));
            }
        }
    }
    wrong
}

/// The former name of a class: a custom class is identified by its number.
fn former<'a>(before: &'a MemoryState, after: &MemoryState, class: &'a ClassName) -> Option<&'a ClassName> {
    match after.classes.get(class) {
        Some(number) => before.classes.iter().find(|(_, former)| *former == number).map(|(name, _)| name),
        None => Some(class),
    }
}

/// `used` is the sum of all allocations, and every allocation has an inventory.
fn usage(state: &MemoryState) -> Vec<String> {
    let mut sums = BTreeMap::<(ProviderId, &ClassName), u64>::new();
    for (consumer, _) in state.consumers.values() {
        for ((provider, class), amount) in &consumer.allocations {
            *sums.entry((*provider, class)).or_default() += amount;
        }
    }
    let mut wrong = Vec::new();
    for (id, provider) in &state.providers {
        for (class, held) in &provider.inventories {
            let sum = sums.remove(&(*id, class)).unwrap_or(0);
            if sum != held.used {
                wrong.push(format!("{class} of {}: used is {}, allocations are {sum}", provider.uuid, held.used));
            }
        }
    }
    wrong.extend(
        sums.into_iter().map(|((id, class), sum)| format!("{sum} {class} of no inventory of provider {}", id.0)),
    );
    wrong
}

fn consumers(state: &MemoryState) -> Vec<String> {
    let is_empty = |allocations: &BTreeMap<_, u64>| allocations.is_empty() || allocations.values().any(|&one| one == 0);
    let wrong =
        state.consumers.iter().filter(|(_, (consumer, _))| is_empty(&consumer.allocations) || consumer.generation < 1);
    wrong.map(|(key, _)| format!("consumer {key} has nothing, or amounts of 0, or was never written")).collect()
}

fn trees(state: &MemoryState) -> Vec<String> {
    let wrong = state.providers.values().filter(|provider| top(state, provider) != Some(provider.root));
    wrong.map(|provider| format!("{} is not below its root {}", provider.uuid, provider.root.0)).collect()
}

/// The root of a provider; `None` for a loop or a missing parent.
fn top(state: &MemoryState, provider: &ProviderState) -> Option<ProviderId> {
    let mut at = provider;
    for _ in 0..state.providers.len() {
        match at.parent {
            None => return Some(at.id),
            Some(parent) => at = state.providers.get(&parent)?,
        }
    }
    None
}

/// UUIDs, names and aggregates are unique; used names exist.
fn names(state: &MemoryState) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut uuids, mut names) = (BTreeSet::new(), BTreeSet::new());
    for provider in state.providers.values() {
        let mut aggregates = BTreeSet::new();
        if !uuids.insert(&provider.uuid)
            || !names.insert(&provider.name)
            || !provider.aggregates.iter().all(|aggregate| aggregates.insert(&aggregate.key))
        {
            wrong.push(format!("{} ({}), or one of its aggregates, is there twice", provider.uuid, provider.name));
        }
        let unknown = provider.inventories.keys().map(ClassName::as_str).filter(|name| !has_class(state, name));
        let unknown_traits =
            provider.traits.iter().map(crate::TraitName::as_str).filter(|name| !has_trait(state, name));
        wrong.extend(
            unknown.chain(unknown_traits).map(|name| format!("{} has {name}, which does not exist", provider.uuid)),
        );
    }
    wrong
}

fn has_class(state: &MemoryState, name: &str) -> bool {
    crate::standard::is_standard_class(name) || state.classes.contains_key(name)
}

fn has_trait(state: &MemoryState, name: &str) -> bool {
    crate::standard::is_standard_trait(name) || state.traits.contains(name)
}
