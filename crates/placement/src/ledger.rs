//! What the API needs of a ledger, whichever database it is. It decides what an answer may rest on: a write is answered
//! after its transaction has committed, a read sees everything that had committed when it was asked for.

mod after;
mod check;
mod contents;
mod depth;
mod error;
mod metrics;
mod operated;
pub mod postgres;
mod schema;
mod shelf;
pub mod sqlite;
mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_placement_model::{ClassName, Command, Key, Model, Outcome, ProviderState, Refusal};
use futures::future::BoxFuture;
use thiserror::Error;
use tokio::time::Instant;

pub use error::LedgerError;
pub use metrics::LedgerMetrics;
pub use operated::Operated;

/// A database with everything that Placement remembers. Calls end at their deadline at the latest.
pub trait Ledger: Send + Sync + 'static {
    /// Decides and does one write in one transaction, and answers after its commit.
    fn write(&self, command: Command, until: Instant) -> BoxFuture<'_, Result<Written, Trouble>>;

    /// All providers, as new as everything that had committed when this was called.
    fn model(&self, until: Instant) -> BoxFuture<'_, Result<Arc<Model>, Trouble>>;

    /// A consumer and its allocations; `None` when it has none.
    fn consumer<'a>(&'a self, key: &'a Key, until: Instant) -> BoxFuture<'a, Result<Option<ConsumerRecord>, Trouble>>;

    /// Who has allocations at a provider; `None` when there is no such provider.
    fn consumers_at<'a>(
        &'a self,
        provider: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, Trouble>>;

    /// GET `/usages`.
    fn usages(&self, question: UsageQuestion, until: Instant) -> BoxFuture<'_, Result<Vec<Usage>, Trouble>>;
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// What the status says.
    pub outcome: Outcome,
    /// The provider that the command names, as it is after the commit; `None` when it names none or deleted it.
    pub provider: Option<Arc<ProviderState>>,
    /// Consumers whose project and user were replaced by nobody.
    pub disowned: Vec<Key>,
}

/// A consumer as GET `/allocations/{consumer}` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerRecord {
    /// Its generation.
    pub generation: i64,
    /// Its project.
    pub project: String,
    /// Its user.
    pub user: String,
    /// Its type, if set.
    pub kind: Option<String>,
    /// By provider in the order of creation: its generation, and amounts.
    pub allocations: Vec<(Key, i64, BTreeMap<ClassName, u64>)>,
    /// The newest time of its allocations.
    pub modified: jiff::Timestamp,
}

/// What GET `/resource_providers/{uuid}/allocations` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderAllocations {
    /// The generation of the provider.
    pub generation: i64,
    /// By consumer: its generation, and amounts at this provider.
    pub consumers: BTreeMap<Key, (i64, BTreeMap<ClassName, u64>)>,
    /// The newest time of the allocations; `None` without any.
    pub modified: Option<jiff::Timestamp>,
}

/// Whose usage, document 51 section 10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuestion {
    /// Of this project.
    pub project: String,
    /// And of this user.
    pub user: Option<String>,
    /// And of this type.
    pub kind: Option<KindFilter>,
}

/// `consumer_type` of GET `/usages`, `all` excepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindFilter {
    /// Without a type.
    Unset,
    /// Of this type.
    Is(String),
}

/// What the consumers of one type have together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The type; `None`: unset.
    pub kind: Option<String>,
    /// How many consumers.
    pub consumers: u64,
    /// Sums by class.
    pub resources: BTreeMap<ClassName, u64>,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Trouble {
    /// The request is refused; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The ledger cannot do it now; whether a write was done is known: it was not. 503 with `Retry-After`.
    #[error("the ledger cannot be used now: {0}; try again")]
    Unavailable(String),
    /// A write whose outcome could not be learnt before the deadline. 503.
    #[error("it is not known whether this was done: {0}; read before trying again")]
    Unknown(String),
}
