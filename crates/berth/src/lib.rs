//! The binary `berth`: arguments, wiring, sub-commands. Everything that decides something lives in the other crates;
//! what is here connects them.

pub mod args;
pub mod assembly;
pub mod commands;
mod error;
mod log_level;
pub mod operator;
mod watchdog;

pub use error::Error;
