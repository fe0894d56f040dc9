//! What the process around a ledger needs of it: whether it works, how old and how large its model is, and its end.

use std::sync::Arc;
use std::time::Duration;

use berth_placement_model::Model;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{Ledger, Trouble};

/// A ledger as its process sees it.
pub trait Operated: Ledger {
    /// What keeps it from working, if anything, in one line.
    fn impediment(&self) -> Option<&'static str>;

    /// The model, however old it is.
    fn last_model(&self) -> Option<Arc<Model>>;

    /// How long ago the database last said what is new; zero where nobody else writes.
    fn age(&self) -> Option<Duration>;

    /// Compares model and database under one snapshot; one line for each difference.
    fn check(&self, until: Instant) -> BoxFuture<'_, Result<Vec<String>, Trouble>>;

    /// Returns when it has ended by itself, which nobody recovers from.
    fn ended(&self) -> BoxFuture<'_, ()>;

    /// Finishes what was accepted, and lets go of the database.
    fn close(&self) -> BoxFuture<'_, ()>;
}
