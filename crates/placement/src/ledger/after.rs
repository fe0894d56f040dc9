//! What a provider is after its changes were written: what the database would say if it were asked again. A test compares
//! both after every command.

use std::collections::BTreeMap;

use berth_placement_model::changes::ProviderChange;
use berth_placement_model::{Changes, Command, Facts, ProviderId, ProviderState};
use jiff::Timestamp;

use super::contents::{Change, News};
use super::depth::Depth;

/// The providers that a write has changed, as they are after it.
pub(super) struct Effects {
    states: BTreeMap<ProviderId, ProviderState>,
    gone: Option<ProviderId>,
}

impl Effects {
    /// What `changes` do to the providers of `facts`. `created` is the number of the new one.
    pub fn new(facts: &Facts, changes: &Changes, created: Option<ProviderId>, now: Timestamp) -> Self {
        let after = |(id, change): (&ProviderId, &ProviderChange)| {
            let mut state = facts.providers.get(id)?.clone();
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
    pub fn provider(&self, command: &Command, facts: &Facts) -> Option<ProviderState> {
        let key = command.subject()?;
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
