//! The usage of each inventory while a write is checked: before it, without its consumers, and with its requested
//! amounts.

use std::collections::BTreeMap;

use super::View;
use crate::{ClassName, Key, ProviderId, WriteSet};

/// Usage of every inventory that a write takes from or gives back to.
#[derive(Default)]
pub(super) struct Usage<'a>(BTreeMap<(ProviderId, &'a ClassName), Line>);

/// Usage of one inventory.
#[derive(Clone, Copy, Default)]
pub(super) struct Line {
    pub before: u64,
    /// Without everything that the consumers of the write had.
    pub kept: u64,
    /// The amount that the write requests, as far as it was loaded.
    pub asked: u64,
}

impl<'a> Usage<'a> {
    pub(super) fn give_back(&mut self, view: &View<'a>, consumer: &Key) {
        let Some(consumer) = view.rows.consumers.get(consumer) else { return };
        for ((provider, class), amount) in &consumer.allocations {
            let line = self.line(view, *provider, class);
            line.kept = line.kept.saturating_sub(*amount);
        }
    }

    /// Adds a requested amount to the inventory's line.
    pub(super) fn ask(&mut self, view: &View<'a>, provider: ProviderId, class: &'a ClassName, amount: u64) -> Line {
        let line = self.line(view, provider, class);
        line.asked = line.asked.saturating_add(amount);
        *line
    }

    fn line(&mut self, view: &View<'a>, provider: ProviderId, class: &'a ClassName) -> &mut Line {
        self.0.entry((provider, class)).or_insert_with(|| {
            let held = view.rows.providers.get(&provider).and_then(|provider| provider.inventories.get(class));
            let used = held.map_or(0, |held| held.used);
            Line { before: used, kept: used, asked: 0 }
        })
    }

    /// Writes down what `used` becomes where it differs.
    pub(super) fn follow(self, changes: &mut WriteSet) {
        for ((provider, class), line) in self.0 {
            let after = line.kept.saturating_add(line.asked);
            if after != line.before {
                changes.providers.entry(provider).or_default().used.insert(class.clone(), after);
            }
        }
    }
}
