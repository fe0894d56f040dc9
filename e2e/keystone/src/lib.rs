//! A real Keystone for tests, from its package on `PyPI`, on a free loopback port, with its data in a SQLite file in a
//! temporary directory. It ends with this process.
//!
//! [`Keystone::shared`] and [`Keystone::start`] are the entry points. The first start of a user creates the Python
//! environment and a database with the users, roles and services of [`seed`]; every other start copies that database.

mod api;
mod base;
mod error;
mod keystone;
pub mod seed;
mod server;

pub use api::{Answer, Api, Login, Scope};
pub use error::Error;
pub use keystone::Keystone;
pub use server::Settings;
