//! Python environments for tests: created once for all checkouts of a user, in the cache, from pinned versions of packages.
//!
//! [`Packages::obtain`] is the entry point; [`prepare`] keeps anything else that is created once.

mod environment;
mod error;
mod prepared;

pub use environment::{Packages, Python, digest};
pub use error::Error;
pub use prepared::{Cache, prepare};
