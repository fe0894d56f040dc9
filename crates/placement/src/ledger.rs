//! The interface of a ledger. A write is answered after its transaction has committed, and a read sees everything that
//! had committed before it.

mod after;
mod check;
mod contents;
mod depth;
mod error;
mod failure_log;
mod metrics;
mod model_cache;
mod operated;
pub mod postgres;
mod schema;
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
pub use operated::{LedgerProblem, Operated};
pub use schema::Inspected;

/// A database with everything that Placement remembers. Calls end at their deadline at the latest.
pub trait Ledger: Send + Sync + 'static {
    /// Decides and does one write in one transaction, and answers after its commit.
    fn write(&self, command: Command, until: Instant) -> BoxFuture<'_, Result<Written, RequestError>>;

    /// All providers, as new as everything that had committed when this was called.
    fn model(&self, until: Instant) -> BoxFuture<'_, Result<Arc<Model>, RequestError>>;

    /// A consumer and its allocations; `None` when it has none.
    fn consumer<'a>(
        &'a self,
        key: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ConsumerRecord>, RequestError>>;

    /// The consumers with allocations at a provider; `None` if there is no such provider.
    fn consumers_at<'a>(
        &'a self,
        provider: &'a Key,
        until: Instant,
    ) -> BoxFuture<'a, Result<Option<ProviderAllocations>, RequestError>>;

    fn usages(&self, question: UsageQuestion, until: Instant) -> BoxFuture<'_, Result<Vec<Usage>, RequestError>>;
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub outcome: Outcome,
    /// The provider that the command names, as it is after the commit; `None` when it names none or deleted it.
    pub provider: Option<Arc<ProviderState>>,
    /// Consumers whose project and user were replaced although the request named none.
    pub disowned: Vec<Key>,
}

/// A consumer as GET `/allocations/{consumer}` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerRecord {
    pub generation: i64,
    pub project: String,
    pub user: String,
    pub kind: Option<String>,
    /// By provider in the order of the write: its generation, and amounts.
    pub allocations: Vec<(Key, i64, BTreeMap<ClassName, u64>)>,
    pub modified: jiff::Timestamp,
}

/// The content of GET `/resource_providers/{uuid}/allocations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderAllocations {
    pub generation: i64,
    /// In the order of their keys. They may be many, so they are in vectors, which take less memory than maps.
    pub consumers: Vec<ConsumerAmounts>,
    /// The newest time of the allocations; `None` without any.
    pub modified: Option<jiff::Timestamp>,
}

/// A consumer with allocations at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerAmounts {
    pub consumer: Key,
    pub generation: i64,
    /// In the order of the classes.
    pub amounts: Vec<(ClassName, u64)>,
}

impl ProviderAllocations {
    /// Adds a row of the database. The rows are in the order of consumers and classes.
    fn add(&mut self, consumer: &str, generation: i64, amount: (ClassName, u64), created: jiff::Timestamp) {
        if let Some(last) = self.consumers.last_mut().filter(|last| last.consumer.as_str() == consumer) {
            last.amounts.push(amount);
        } else {
            let consumer = Key::new(consumer);
            self.consumers.push(ConsumerAmounts { consumer, generation, amounts: vec![amount] });
        }
        self.modified = self.modified.max(Some(created));
    }
}

/// The project, user and type whose usage is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuestion {
    pub project: String,
    pub user: Option<String>,
    pub kind: Option<KindFilter>,
}

/// `consumer_type` of GET `/usages`, `all` excepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindFilter {
    Unset,
    Is(String),
}

/// The total of the consumers of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The type; `None`: unset.
    pub kind: Option<String>,
    pub consumers: u64,
    pub resources: BTreeMap<ClassName, u64>,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The ledger cannot do it now; whether a write was done is known: it was not. 503 with `Retry-After`.
    #[error("the ledger cannot be used now: {0}; try again")]
    Unavailable(String),
    /// A write whose outcome could not be learnt before the deadline. 503.
    #[error("it is not known whether this was done: {0}; read before trying again")]
    Unknown(String),
}
