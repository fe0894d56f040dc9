//! The model cache: the writer publishes whole states, and no commit is visible by SQL before the model has it. Readers
//! keep a copy as long as they need it.

use std::sync::Arc;

use berth_placement_model::{ClassName, Model, ProviderId, ProviderState, TraitName, standard};
use parking_lot::RwLock as StdRwLock;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};

use super::contents::{ChangeSet, Contents, CustomNames, ProviderUpdate};

/// The model of a ledger; empty until it is loaded.
#[derive(Default)]
pub(super) struct ModelCache {
    current: StdRwLock<Option<Arc<Model>>>,
    /// Held for writing from before a commit until the model has it.
    publishing: Arc<RwLock<()>>,
}

/// The time between a commit and its place in the model. Dropping it ends it.
pub(super) struct Publishing {
    _lock: OwnedRwLockWriteGuard<()>,
}

impl ModelCache {
    /// Puts a new model there, or takes the old one away, so that readers wait for a new one.
    pub fn set(&self, model: Option<Model>) {
        *self.current.write() = model.map(Arc::new);
    }

    /// The present model; `None` as long as there is none.
    pub fn snapshot(&self) -> Option<Arc<Model>> {
        self.current.read().clone()
    }

    pub async fn start_publishing(&self) -> Publishing {
        Publishing { _lock: self.publishing.clone().write_owned().await }
    }

    /// Returns when every commit that a reader may have seen is in the model.
    pub async fn settled(&self) {
        drop(self.publishing.read().await);
    }

    /// Publishes changes. Only one caller at a time, because the copy is made outside of the lock.
    pub fn change(&self, changes: ChangeSet) {
        if changes.is_empty() {
            return;
        }
        if let Some(before) = self.snapshot() {
            self.set(Some(changed(&before, changes)));
        }
    }
}

/// The model after the news; it shares the rest with the one before.
pub(super) fn changed(before: &Model, changes: ChangeSet) -> Model {
    let mut model = before.clone();
    apply(&mut model, changes);
    model
}

pub(super) fn model_of(contents: Contents) -> Model {
    let mut model = Model::new(&standard::CLASSES, &standard::TRAITS);
    set_names(&mut model, &contents.names);
    for provider in contents.providers {
        model.put(&provider);
    }
    model
}

fn apply(model: &mut Model, changes: ChangeSet) {
    if let Some(names) = changes.names {
        set_names(model, &names);
    }
    for (id, change) in changes.providers {
        match change {
            ProviderUpdate::Whole(state) => model.put(&state),
            ProviderUpdate::Amounts(now) => {
                let keep = |before: ProviderState| ProviderState {
                    traits: before.traits,
                    aggregates: before.aggregates,
                    ..*now
                };
                put_over(model, id, keep);
            }
            ProviderUpdate::Used(now) => put_over(model, id, |mut state| {
                now.change(&mut state);
                state
            }),
            ProviderUpdate::Gone => model.remove(id),
        }
    }
}

/// Replaces the state of a provider by the result of `now`.
fn put_over(model: &mut Model, id: ProviderId, now: impl FnOnce(ProviderState) -> ProviderState) {
    let before = model.by_number(id).map(|provider| provider.state());
    if let Some(before) = before {
        model.put(&now(before));
    }
}

fn set_names(model: &mut Model, names: &CustomNames) {
    let gone = |name: &ClassName| names.classes.iter().all(|class| class.name != *name);
    let classes: Vec<_> = model
        .all_classes()
        .into_iter()
        .filter(|(name, known)| known.is_custom && gone(name))
        .map(|(name, _)| name.clone())
        .collect();
    for name in &classes {
        model.remove_class(name);
    }
    let traits: Vec<TraitName> = model
        .all_traits()
        .into_iter()
        .filter(|(name, known, _)| known.is_custom && !names.traits.contains_key(*name))
        .map(|(name, ..)| name.clone())
        .collect();
    for name in &traits {
        model.remove_trait(name);
    }
    for class in &names.classes {
        model.put_class(&class.name, class.number, class.modified);
    }
    for (name, created_at) in &names.traits {
        model.put_trait(name, *created_at);
    }
}
