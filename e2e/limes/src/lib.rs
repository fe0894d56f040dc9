//! A program that plays Limes: it discovers a LIQUID service, and sells, splits, converts, transfers and deletes commitments
//! as Limes does. Its types are written from the protocol, independently of the service, and refuse unknown members.

pub mod answers;
pub mod client;
pub mod error;
pub mod info;
pub mod plan;
pub mod requests;
pub mod session;
mod usage;

pub use error::Error;
pub use session::{Session, Settings};
