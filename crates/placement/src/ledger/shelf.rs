//! Where the model stands for readers. It decides that the one who writes publishes whole states, and that nobody sees a
//! commit by SQL before the model has it. A model is a value whose copies share what they have in common, so readers keep
//! their state as long as they like.

use std::sync::Arc;

use berth_placement_model::{ClassName, Model, ProviderId, ProviderState, TraitName, standard};
use parking_lot::RwLock as StdRwLock;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};

use super::contents::{Change, Contents, CustomNames, News};

/// The model of a ledger, or nothing as long as there is none.
#[derive(Default)]
pub(super) struct Shelf {
    current: StdRwLock<Option<Arc<Model>>>,
    /// Held for writing from before a commit until the model has it.
    gate: Arc<RwLock<()>>,
}

/// The time between a commit and its place in the model. Dropping it ends it.
pub(super) struct Publishing {
    _gate: OwnedRwLockWriteGuard<()>,
}

impl Shelf {
    /// Puts a new model there, or takes the old one away, so that readers wait for a new one.
    pub fn place(&self, model: Option<Model>) {
        *self.current.write() = model.map(Arc::new);
    }

    /// What the model is now; `None` as long as there is none.
    pub fn snapshot(&self) -> Option<Arc<Model>> {
        self.current.read().clone()
    }

    /// Announces a commit.
    pub async fn begin(&self) -> Publishing {
        Publishing { _gate: self.gate.clone().write_owned().await }
    }

    /// Returns when every commit that somebody may have seen is in the model.
    pub async fn settled(&self) {
        drop(self.gate.read().await);
    }

    /// Publishes changes. Only one caller at a time, because the copy is made outside of the lock.
    pub fn change(&self, news: News) {
        if news.is_empty() {
            return;
        }
        if let Some(before) = self.snapshot() {
            self.place(Some(changed(&before, news)));
        }
    }
}

/// The model after the news; it shares the rest with the one before.
pub(super) fn changed(before: &Model, news: News) -> Model {
    let mut model = before.clone();
    apply(&mut model, news);
    model
}

/// The model of a whole database.
pub(super) fn model_of(contents: Contents) -> Model {
    let mut model = Model::new(&standard::CLASSES, &standard::TRAITS);
    set_names(&mut model, &contents.names);
    for provider in contents.providers {
        model.put(&provider);
    }
    model
}

fn apply(model: &mut Model, news: News) {
    if let Some(names) = news.names {
        set_names(model, &names);
    }
    for (id, change) in news.providers {
        match change {
            Change::Whole(state) => model.put(&state),
            Change::Amounts(now) => {
                let keep = |before: ProviderState| ProviderState {
                    traits: before.traits,
                    aggregates: before.aggregates,
                    ..*now
                };
                put_over(model, id, keep);
            }
            Change::Used(now) => put_over(model, id, |mut state| {
                now.change(&mut state);
                state
            }),
            Change::Gone => model.remove(id),
        }
    }
}

/// Replaces what is known of a provider by what `now` makes of it.
fn put_over(model: &mut Model, id: ProviderId, now: impl FnOnce(ProviderState) -> ProviderState) {
    let before = model.by_number(id).map(|provider| provider.state());
    if let Some(before) = before {
        model.put(&now(before));
    }
}

/// Replaces all custom names.
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
