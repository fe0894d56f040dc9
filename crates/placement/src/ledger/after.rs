//! What a provider is after its changes were written: what the database would say if it were asked again. A test compares
//! both after every command.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::{
    Changes, Command, Facts, Key, ProviderId, ProviderState,
    changes::{NewProvider, ProviderChange},
    provider::Held,
};
use jiff::Timestamp;

use super::{
    contents::{Change, News},
    depth::Depth,
};

/// The providers that a write has changed, as they are after it.
pub(super) struct Effects {
    states: BTreeMap<ProviderId, ProviderState>,
    gone: Option<ProviderId>,
}

impl Effects {
    /// What `changes` do to the providers of `facts`. `created` is the number of the new one.
    pub fn new(facts: &Facts, changes: &Changes, created: Option<ProviderId>, now: Timestamp) -> Self {
        let after =
            |(id, change): (&ProviderId, &ProviderChange)| Some((*id, changed(facts.providers.get(id)?, change, now)));
        let mut states: BTreeMap<_, _> = changes.providers.iter().filter_map(after).collect();
        if let (Some(new), Some(id)) = (&changes.created, created) {
            states.insert(id, self::created(new, id, now));
        }
        Self { states, gone: changes.deleted }
    }

    /// The provider that `command` is about, if it still exists.
    pub fn provider(&self, command: &Command, facts: &Facts) -> Option<ProviderState> {
        let key = subject(command)?;
        let mut all = self.states.values().chain(facts.providers.values());
        all.find(|state| state.uuid == *key && self.gone != Some(state.id)).cloned()
    }

    /// Tells the model. What was not read has not changed.
    pub fn publish(self, depth: Depth, news: &mut News) {
        for (id, state) in self.states {
            let state = Box::new(state);
            news.add(id, if depth == Depth::Whole { Change::Whole(state) } else { Change::Amounts(state) });
        }
        if let Some(id) = self.gone {
            news.add(id, Change::Gone);
        }
    }
}

/// The one provider that a command names.
fn subject(command: &Command) -> Option<&Key> {
    match command {
        Command::CreateProvider { uuid, .. } | Command::UpdateProvider { uuid, .. } => Some(uuid),
        Command::AddInventory { provider, .. }
        | Command::SetInventories { provider, .. }
        | Command::SetInventory { provider, .. }
        | Command::DeleteInventory { provider, .. }
        | Command::DeleteInventories { provider }
        | Command::SetAggregates { provider, .. }
        | Command::SetTraits { provider, .. }
        | Command::DeleteTraits { provider } => Some(provider),
        _ => None,
    }
}

/// A provider that has just been created.
fn created(new: &NewProvider, id: ProviderId, now: Timestamp) -> ProviderState {
    ProviderState {
        id,
        uuid: new.uuid.clone(),
        name: new.name.clone(),
        generation: 0,
        parent: new.above.map(|(parent, _)| parent),
        root: new.above.map_or(id, |(_, root)| root),
        created_at: now,
        updated_at: None,
        inventories: BTreeMap::new(),
        traits: BTreeSet::new(),
        aggregates: Vec::new(),
    }
}

/// The same provider afterwards.
fn changed(before: &ProviderState, change: &ProviderChange, now: Timestamp) -> ProviderState {
    let mut state = before.clone();
    state.generation += change.raised;
    if let Some(name) = &change.name {
        state.name.clone_from(name);
    }
    state.parent = change.parent.unwrap_or(state.parent);
    state.root = change.root.unwrap_or(state.root);
    if change.touched {
        state.updated_at = Some(now);
    }
    change_inventories(&mut state, change, now);
    if let Some(traits) = &change.traits {
        state.traits.clone_from(traits);
    }
    if let Some(aggregates) = &change.aggregates {
        state.aggregates.clone_from(aggregates);
    }
    state
}

fn change_inventories(state: &mut ProviderState, change: &ProviderChange, now: Timestamp) {
    for (class, &inventory) in &change.inventories {
        let new = Held { inventory, used: 0, created_at: now, updated_at: None };
        let held = state.inventories.get(class).map_or(new, |old| Held { inventory, updated_at: Some(now), ..*old });
        state.inventories.insert(class.clone(), held);
    }
    for (class, &used) in &change.used {
        if let Some(held) = state.inventories.get_mut(class) {
            held.used = used;
        }
    }
    state.inventories.retain(|class, _| !change.without.contains(class));
}
