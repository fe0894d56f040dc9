//! The server of the LIQUID API.

mod handler;

pub use handler::{ChangeCall, ChangeHandler, ChangeVerdict};
