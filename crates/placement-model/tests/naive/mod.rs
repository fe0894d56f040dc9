//! Allocation candidates a second time: the algorithm of document 51 section 12 as plainly as possible, and random clouds and
//! queries to compare it with. It decides what the right answer is; it shares nothing with the model of the product but the
//! types of providers and questions, and it is slow.

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
