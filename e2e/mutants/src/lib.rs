//! `make mutants` builds the tests that docs/testing.md names for each mutant once. They must pass without a mutant,
//! and fail when the mutant is switched on. The mutants are patches, which are applied to a copy of the sources.

pub mod binaries;
pub mod campaign;
mod error;
pub mod patches;
pub mod table;
pub mod tree;
pub mod trial;

pub use error::Error;
