//! The interface of a ledger for the process: its health, the age and size of its model, and its end.

use std::sync::Arc;
use std::time::Duration;

use berth_placement_model::Model;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{Ledger, RequestError};

/// A ledger as its process sees it.
pub trait Operated: Ledger {
    /// The reason why it cannot work, if any, in one line.
    fn impediment(&self) -> Option<&'static str>;

    fn last_model(&self) -> Option<Arc<Model>>;

    /// How long ago the database last reported its changes; zero if there is one writer.
    fn age(&self) -> Option<Duration>;

    /// Compares model and database under one snapshot; one line for each difference.
    fn check(&self, until: Instant) -> BoxFuture<'_, Result<Vec<String>, RequestError>>;

    /// Returns when the ledger has ended by itself, which cannot be recovered from.
    fn ended(&self) -> BoxFuture<'_, ()>;

    /// Finishes accepted writes, and closes the database.
    fn close(&self) -> BoxFuture<'_, ()>;
}
