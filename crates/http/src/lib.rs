//! The HTTP stack that every server shares: where it listens, what it bears, how a request is named, traced and
//! counted, and how errors look. It decides nothing about what is served; that is a [`axum::Router`] of the crate
//! whose API it is.

pub mod address;
pub mod answer;
pub mod content;
pub mod error;
pub mod health;
pub mod limits;
pub mod metrics;
mod observe;
mod reachable;
pub mod request_id;
pub mod server;

pub use address::Address;
pub use content::Content;
pub use error::HttpError;
pub use health::{Component, Readiness};
pub use limits::Limits;
pub use reachable::base_url;
pub use request_id::RequestId;
pub use server::{Server, serve};
