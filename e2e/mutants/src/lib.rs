//! What `make mutants` does: the tests that docs/testing.md names for each mutant are built once, must pass as they are,
//! and must fail when the mutant is switched on. What a mutant is and where it acts is in `berth_core::mutants`.

pub mod binaries;
pub mod campaign;
mod error;
pub mod table;
pub mod trial;

pub use error::Error;
