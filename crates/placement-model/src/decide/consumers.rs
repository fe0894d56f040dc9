//! Consumers of a write of allocations. It decides which generation they must have, what they are like afterwards, and
//! that none exists without allocations.

use std::collections::{BTreeMap, BTreeSet};

use super::View;
use crate::changes::ConsumerChange;
use crate::command::{ConsumerGuard, ConsumerWrite};
use crate::facts::Consumer;
use crate::{Changes, Refusal};

/// Phase 1 of section 9.3, without its defect of creating anything.
pub(super) fn check(view: &View<'_>, writes: &[ConsumerWrite]) -> Result<(), Refusal> {
    // Keys that differ only in spelling are one consumer, which cannot have both sets.
    let mut seen = BTreeSet::new();
    for write in writes {
        if !seen.insert(&write.consumer) {
            let text = format!("Consumer {} is named more than once; name each consumer once", write.consumer);
            return Err(Refusal::invalid(text));
        }
        let ConsumerGuard::Expected(given) = write.generation else { continue };
        let actual = view.facts.consumers.get(&write.consumer).map(|consumer| consumer.generation);
        if actual != given {
            return Err(conflict(actual, given));
        }
    }
    Ok(())
}

/// The words for nothing differ because the reference prints the request as Python has it; clients match them.
fn conflict(actual: Option<i64>, given: Option<i64>) -> Refusal {
    let actual = actual.map_or_else(|| "null".to_owned(), |generation| generation.to_string());
    let given = given.map_or_else(|| "None".to_owned(), |generation| generation.to_string());
    Refusal::concurrent(format!("consumer generation conflict - expected {actual} but got {given}"))
}

/// What the consumers of a granted write are like afterwards.
pub(super) fn follow(view: &View<'_>, writes: &[ConsumerWrite], changes: &mut Changes) {
    for write in writes {
        let before = view.facts.consumers.get(&write.consumer);
        let after = after(view, write, before);
        if !after.allocations.is_empty() {
            changes.consumers.insert(write.consumer.clone(), after);
        } else if before.is_some() {
            changes.gone.insert(write.consumer.clone());
        }
    }
}

fn after(view: &View<'_>, write: &ConsumerWrite, before: Option<&Consumer>) -> ConsumerChange {
    let mut allocations = BTreeMap::new();
    for (provider, amounts) in &write.allocations {
        let Some(provider) = view.find(provider) else { continue };
        for (class, amount) in amounts.iter().filter(|(_, amount)| *amount > 0) {
            let sum: &mut u64 = allocations.entry((provider.id, class.clone())).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }
    ConsumerChange {
        created: before.is_none(),
        generation: before.map_or(0, |before| before.generation).saturating_add(1),
        project: write.project.clone(),
        user: write.user.clone(),
        kind: write.kind.clone().or_else(|| before.and_then(|before| before.kind.clone())),
        allocations,
    }
}
