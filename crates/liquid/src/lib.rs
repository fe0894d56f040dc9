//! The LIQUID API, through which Limes sells commitments, and the controller that applies its changes all or nothing.

pub mod capacity;
pub mod changes;
pub mod configured;
pub mod info;
mod rejection;
pub mod server;
pub mod service;
pub mod usage;
