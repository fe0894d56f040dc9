//! Placement's rules, pure: what a write does to providers and consumers, and which candidates there are.
//!
//! A **write** is a [`Command`]: the ledger loads the rows of [`Command::read_set`] inside its transaction,
//! [`decide()`] returns the [`WriteSet`] or a [`Refusal`], and the ledger applies it in the same transaction. A
//! **read** is a question to a model of all providers, which the ledger keeps as new as its last commit.

mod after;
pub mod candidates;
pub mod command;
mod decide;
pub mod inventory;
mod json;
pub mod key;
pub mod listing;
pub mod loaded_rows;
pub mod model;
pub mod names;
pub mod parse;
pub mod provider;
pub mod question;
mod read_set;
pub mod refusal;
mod resolve;
pub mod standard;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod version;
pub mod write_set;

pub use candidates::{Candidates, NoCandidates, Pages};
pub use command::Command;
pub use decide::decide;
pub use inventory::Inventory;
pub use key::Key;
pub use loaded_rows::{LoadedRows, ReadSet};
pub use model::Model;
pub use names::{ClassName, TraitName};
pub use provider::{ProviderId, ProviderState};
pub use refusal::Refusal;
pub use version::Version;
pub use write_set::{Outcome, WriteSet};
