//! The syncer: it fetches what Limes lists and repairs the commitments that calls of Limes have missed. It writes nothing
//! else than commitments.
//!
//! A run ([`fetch`]) asks Keystone for the projects and Limes for the commitments of each, and makes a [`view::LimesView`]
//! of the answers. Each commitment is then compared once with that view ([`plan`]). Nothing is ended or deleted without a
//! proof that the view is complete.

mod apply;
mod error;
mod event_limit;
mod events;
pub mod fetch;
pub mod filter;
pub mod history;
mod key;
mod metrics;
mod pace;
pub mod plan;
mod read;
mod recent;
mod reconcile;
mod schedule;
pub mod view;
mod views;
mod watches;

pub use error::{Error, RunError};
pub use fetch::{Fetcher, FetcherParts, LimesClient};
pub use key::SyncKey;
pub use metrics::SyncMetrics;
pub use pace::Jitter;
pub use recent::RecentChanges;
pub use reconcile::{Context, Settings, SyncController};
pub use views::{KnownListing, Views};
