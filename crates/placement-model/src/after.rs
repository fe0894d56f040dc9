//! A provider after its changes are written, as a ledger would read it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::provider::Held;
use crate::write_set::{NewProvider, ProviderChange};
use crate::{Inventory, ProviderId, ProviderState};

impl NewProvider {
    /// The provider right after it was created at `now`, with the number that the ledger gave it.
    pub fn created(self, id: ProviderId, now: Timestamp) -> ProviderState {
        ProviderState {
            id,
            uuid: self.uuid,
            name: self.name,
            generation: 0,
            parent: self.above.map(|(parent, _)| parent),
            root: self.above.map_or(id, |(_, root)| root),
            created_at: now,
            updated_at: None,
            inventories: BTreeMap::new(),
            traits: BTreeSet::new(),
            aggregates: Vec::new(),
        }
    }
}

impl ProviderChange {
    /// Changes the state of a provider as the rows are changed at `now`.
    pub fn change(self, state: &mut ProviderState, now: Timestamp) {
        state.generation += self.raised;
        replace(&mut state.name, self.name);
        replace(&mut state.parent, self.parent);
        replace(&mut state.root, self.root);
        if self.touched {
            state.updated_at = Some(now);
        }
        state.inventories.retain(|class, _| !self.without.contains(class));
        for (class, inventory) in self.inventories {
            let held = written(state.inventories.get(&class), inventory, now);
            state.inventories.insert(class, held);
        }
        for (class, used) in self.used {
            if let Some(held) = state.inventories.get_mut(&class) {
                held.used = used;
            }
        }
        replace(&mut state.traits, self.traits);
        replace(&mut state.aggregates, self.aggregates);
    }
}

fn replace<T>(value: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *value = new;
    }
}

fn written(before: Option<&Held>, inventory: Inventory, now: Timestamp) -> Held {
    match before {
        Some(before) => Held { inventory, updated_at: Some(now), ..*before },
        None => Held { inventory, used: 0, created_at: now, updated_at: None },
    }
}
