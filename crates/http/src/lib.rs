//! The HTTP stack of all servers: addresses, limits, request ids, traces, metrics and errors, and forwarding to the
//! leader. The [`axum::Router`] with the endpoints is from another crate.

pub mod access;
pub mod address;
pub mod answer;
pub mod authorization;
mod authorized_listener;
pub mod client;
mod connections;
pub mod content;
pub mod error;
mod exchange;
mod forward;
pub mod forwarder;
pub mod health;
pub mod limits;
mod log_limit;
pub mod metrics;
mod observe;
pub mod open_files;
mod rate;
mod reachable;
mod request_body;
pub mod request_id;
mod role;
pub mod server;
mod stream;
mod tls;

pub use access::{Access, ListenAddress};
pub use address::Address;
pub use authorization::{AccessAnswer, Authorizer};
pub use authorized_listener::needs_tls;
pub use connections::Peer;
pub use content::Content;
pub use error::HttpError;
pub use forward::Forward;
pub use forwarder::Forwarder;
pub use health::{Component, Readiness};
pub use limits::Limits;
pub use log_limit::LogLimit;
pub use observe::LogReason;
pub use reachable::{Scheme, base_url};
pub use request_id::RequestId;
pub use role::Role;
pub use server::{Server, serve};
pub use tls::{CertificateError, Tls, TlsInForce};
