//! A provider after its changes were written, as the database would return it. A test compares both after every
//! command.

use std::collections::BTreeMap;

use berth_placement_model::write_set::ProviderChange;
use berth_placement_model::{Command, LoadedRows, ProviderId, ProviderState, WriteSet};
use jiff::Timestamp;

use super::contents::{ChangeSet, ProviderUpdate};
use super::depth::Depth;

/// The providers that a write has changed, in their new state.
pub(super) struct Effects {
    states: BTreeMap<ProviderId, ProviderState>,
    gone: Option<ProviderId>,
}

impl Effects {
    /// Applies `changes` to the loaded providers. `created` is the number of the new one.
    pub fn new(rows: &LoadedRows, changes: &WriteSet, created: Option<ProviderId>, now: Timestamp) -> Self {
        let after = |(id, change): (&ProviderId, &ProviderChange)| {
            let mut state = rows.providers.get(id)?.clone();
            change.clone().change(&mut state, now);
            Some((*id, state))
        };
        let mut states: BTreeMap<_, _> = changes.providers.iter().filter_map(after).collect();
        if let (Some(new), Some(id)) = (&changes.created, created) {
            states.insert(id, new.clone().created(id, now));
        }
        Self { states, gone: changes.deleted }
    }

    /// The provider that `command` is about, if it still exists.
    pub fn provider(&self, command: &Command, rows: &LoadedRows) -> Option<ProviderState> {
        let key = command.subject()?;
        let mut all = self.states.values().chain(rows.providers.values());
        all.find(|state| state.uuid == *key && self.gone != Some(state.id)).cloned()
    }

    /// Passes the changes to the model. Rows that were not loaded have not changed.
    pub fn publish(self, depth: Depth, changes: &mut ChangeSet) {
        for (id, state) in self.states {
            let state = Box::new(state);
            changes.add(
                id,
                if depth == Depth::Whole { ProviderUpdate::Whole(state) } else { ProviderUpdate::Amounts(state) },
            );
        }
        if let Some(id) = self.gone {
            changes.add(id, ProviderUpdate::Gone);
        }
    }
}
