//! Placement's rules, pure: what a write does to providers and consumers, and which candidates there are. No I/O, no
//! clock, no randomness, no hash-map order; time is an argument.
//!
//! Two doors. A **write** is a [`Command`]: the ledger reads the [`Facts`] that [`Command::wants`] names inside its
//! transaction, [`decide()`] says which [`Changes`] follow or why it is refused ([`Refusal`]), and the ledger applies
//! them in the same transaction. A **read** is a question to a model of all providers, which the ledger keeps as new as
//! its last commit; that model holds [`ProviderState`]s and nothing else.

mod after;
pub mod candidates;
pub mod changes;
pub mod command;
mod decide;
pub mod facts;
pub mod inventory;
mod json;
pub mod key;
pub mod listing;
pub mod model;
pub mod names;
pub mod parse;
pub mod provider;
pub mod question;
pub mod refusal;
mod resolve;
pub mod standard;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod version;
mod wants;

pub use candidates::{Candidates, NoCandidates, Pages};
pub use changes::{Changes, Outcome};
pub use command::Command;
pub use decide::decide;
pub use facts::{Facts, Wants};
pub use inventory::Inventory;
pub use key::Key;
pub use model::Model;
pub use names::{ClassName, TraitName};
pub use provider::{ProviderId, ProviderState};
pub use refusal::Refusal;
pub use version::Version;
