//! A real PostgreSQL for tests and benchmarks: one cluster on a free loopback port, with its data in a temporary
//! directory. It ends with this process.
//!
//! [`Postgres::start`] is the entry point; every user of a cluster creates its own databases. PostgreSQL refuses to run
//! as root, so for root it runs as the user of Debian's package.

mod account;
mod certificates;
mod error;
mod postgres;
mod programs;
mod shared;

pub use certificates::Certificates;
pub use error::Error;
pub use postgres::{Durability, Postgres};
pub use shared::shared;
