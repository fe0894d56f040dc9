//! The HTTP stack of all servers: addresses, limits, request ids, traces, metrics and errors. The [`axum::Router`] with
//! the endpoints is from another crate.

pub mod access;
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

pub use access::{Access, ListenAddress};
pub use address::Address;
pub use content::Content;
pub use error::HttpError;
pub use health::{Component, Readiness};
pub use limits::Limits;
pub use reachable::base_url;
pub use request_id::RequestId;
pub use server::{Server, serve};
