//! A naive second implementation of allocation candidates, which follows the algorithm of Placement as plainly as
//! possible, with random clouds and queries for comparisons.

mod algorithm;
mod cloud;
pub mod clouds;
pub mod queries;
pub mod random;
mod values;

#[allow(unused_imports, reason = "each test uses some of them")]
pub use cloud::Cloud;
#[allow(unused_imports, reason = "each test uses some of them")]
pub use values::{Answer, capacity, read};
