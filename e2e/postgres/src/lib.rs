//! A real PostgreSQL for tests and figures: one cluster on a free loopback port, with its data in a temporary folder, and
//! gone when this process is gone.
//!
//! [`Postgres::start`] is the door; every user of a cluster makes databases of its own. PostgreSQL refuses to run as root,
//! so for root it runs as the user that Debian's package makes.

mod account;
mod error;
mod postgres;
mod programs;

pub use error::Error;
pub use postgres::{Durability, Postgres};
