//! The LIQUID API, through which Limes sells commitments and sets quota, and the controller that applies its changes all or
//! nothing.

pub mod capacity;
pub mod changes;
pub mod configured;
mod decode;
pub mod info;
mod leader;
mod queue;
pub mod quota;
mod refused;
mod rejection;
pub mod server;
pub mod service;
pub mod usage;
