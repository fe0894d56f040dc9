//! The consumers of a write of allocations: their generations, and that none exists without allocations.

use std::collections::{BTreeMap, BTreeSet};

use super::View;
use crate::command::{ConsumerGuard, ConsumerWrite};
use crate::loaded_rows::Consumer;
use crate::write_set::ConsumerChange;
use crate::{Refusal, WriteSet};

/// Finds the consumer; unlike the reference it creates nothing.
pub(super) fn check(view: &View<'_>, writes: &[ConsumerWrite]) -> Result<(), Refusal> {
    // Keys that differ only in spelling are one consumer, which cannot have both sets.
    let mut seen = BTreeSet::new();
    for write in writes {
        if !seen.insert(&write.consumer) {
            let text = format!("Consumer {} is named more than once; name each consumer once", write.consumer);
            return Err(Refusal::invalid(text));
        }
        let ConsumerGuard::Expected(given) = write.generation else { continue };
        let actual = view.rows.consumers.get(&write.consumer).map(|consumer| consumer.generation);
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

/// Records the consumers as they are after a granted write.
pub(super) fn follow(view: &View<'_>, writes: &[ConsumerWrite], changes: &mut WriteSet) {
    for write in writes {
        let before = view.rows.consumers.get(&write.consumer);
        let after = plan_consumer_change(view, write, before);
        if !after.allocations.is_empty() {
            changes.consumers.insert(write.consumer.clone(), after);
        } else if before.is_some() {
            changes.gone.insert(write.consumer.clone());
        }
    }
}

fn plan_consumer_change(view: &View<'_>, write: &ConsumerWrite, before: Option<&Consumer>) -> ConsumerChange {
    let (mut allocations, mut positions) = (BTreeMap::new(), BTreeMap::new());
    for (position, (provider, amounts)) in (0..).zip(&write.allocations) {
        let Some(provider) = view.find(provider) else { continue };
        positions.entry(provider.id).or_insert(position);
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
        positions,
    }
}
