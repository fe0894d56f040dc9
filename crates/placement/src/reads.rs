//! What handlers ask of the in-memory model, as traits, so that they can be tested without one. It decides nothing; whoever
//! implements it promises that a view is as new as everything that had committed when it was asked for.

use std::sync::Arc;

use axum::body::Body;
use berth_placement_model::{ClassName, Key, ProviderId, ProviderState, Refusal, TraitName, Version};
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::ledger::Trouble;

/// A query parameter after decoding.
pub type Pair = (String, String);

/// Where reads come from.
pub trait Reads: Send + Sync + 'static {
    /// One state of everything, as new as all that had committed when this was called.
    fn view(&self, until: Instant) -> BoxFuture<'_, Result<Arc<dyn View>, Trouble>>;
}

/// One state of everything. Nothing here waits, apart from [`View::candidates`], which may work for long elsewhere.
pub trait View: Send + Sync {
    /// A provider.
    fn provider(&self, key: &Key) -> Option<Detailed>;

    /// The UUID of a provider.
    fn uuid(&self, id: ProviderId) -> Option<Key>;

    /// GET `/resource_providers`; document 51 section 4.3.
    fn providers(&self, query: &[Pair], version: Version) -> Result<Vec<Listed>, Refusal>;

    /// GET `/allocation_candidates`; document 51 section 12. The body of the answer.
    fn candidates<'a>(
        &'a self,
        query: &'a [Pair],
        version: Version,
        until: Instant,
    ) -> BoxFuture<'a, Result<Body, Trouble>>;

    /// All classes, standard ones first, then custom ones by creation.
    fn classes(&self) -> Vec<Named<ClassName>>;

    /// A class.
    fn class(&self, name: &str) -> Option<Named<ClassName>>;

    /// The traits that pass, ascending.
    fn traits(&self, filter: &TraitFilter) -> Vec<Named<TraitName>>;

    /// A trait.
    fn named_trait(&self, name: &str) -> Option<Named<TraitName>>;
}

/// A provider in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its UUID.
    pub uuid: Key,
    /// Its name.
    pub name: String,
    /// Its generation.
    pub generation: i64,
    /// The provider above it.
    pub parent: Option<Key>,
    /// The root of its tree.
    pub root: Key,
    /// When it was last changed, or created.
    pub modified: Timestamp,
}

/// A provider with everything it has.
#[derive(Debug, Clone, PartialEq)]
pub struct Detailed {
    /// Everything.
    pub state: ProviderState,
    /// The provider above it.
    pub parent: Option<Key>,
    /// The root of its tree.
    pub root: Key,
}

impl Detailed {
    /// As it stands in a list.
    pub fn listed(&self) -> Listed {
        let state = &self.state;
        Listed {
            uuid: state.uuid.clone(),
            name: state.name.clone(),
            generation: state.generation,
            parent: self.parent.clone(),
            root: self.root.clone(),
            modified: state.updated_at.unwrap_or(state.created_at),
        }
    }
}

/// A class or trait; standard ones have no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<N> {
    /// Its name.
    pub name: N,
    /// When it was last changed, or created.
    pub modified: Option<Timestamp>,
}

/// Filters of GET `/traits`; all must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraitFilter {
    /// One of these.
    pub names: Option<Vec<String>>,
    /// Begins with this.
    pub prefix: Option<String>,
    /// Whether at least one provider has it.
    pub associated: Option<bool>,
}
