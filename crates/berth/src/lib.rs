//! The binary `berth`: arguments, wiring and sub-commands. Decisions are made in the other crates.

pub mod args;
pub mod build_info;
mod callers;
pub mod commands;
mod error;
mod log_level;
pub mod operator;
mod policy_file;
mod watchdog;
pub mod wiring;

pub use error::Error;
