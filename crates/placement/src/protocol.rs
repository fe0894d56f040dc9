//! The parts of HTTP that all endpoints share. [`crate::pipeline`] decides their order.

pub mod accept;
pub mod api_error;
pub mod body;
pub mod content;
pub mod cors;
pub mod microversion;
pub mod names;
pub mod target;
