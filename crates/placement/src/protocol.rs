//! The parts of HTTP that all endpoints share, each by itself: names, CORS, authentication, microversion, content headers, bodies,
//! and what an error looks like. In which order a request meets them is decided in [`crate::pipeline`].

pub mod accept;
pub mod authentication;
pub mod body;
pub mod content;
pub mod cors;
pub mod microversion;
pub mod names;
pub mod problem;
pub mod target;
