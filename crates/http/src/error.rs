//! The error type of this crate: why a server cannot run. Problems of a request are responses, not errors.

use crate::tls::CertificateError;

/// The reason why a server cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error(
        "{found:?} is not an address; write \":8080\" for all interfaces, \"127.0.0.1:8080\" for one, or 0 for none"
    )]
    Address { found: String },
    /// An API without authentication at an address that others reach.
    #[error("the {api} API would answer every client without authentication at {address}; {instead}")]
    Open { api: &'static str, address: String, instead: &'static str },
    /// The address is taken, not ours, or not allowed.
    #[error("cannot listen on {address}; check that no other process does and that the port is allowed")]
    Bind {
        address: String,
        #[source]
        source: std::io::Error,
    },
    /// The listener has failed for a while, for another reason than a lack of descriptors.
    #[error("cannot accept connections any more; check the network of this machine")]
    Accept {
        #[source]
        source: std::io::Error,
    },
    /// A self-signed certificate could not be made.
    #[error("cannot make a certificate for TLS; this is a bug, report it, and pass --metrics-secure=false until then")]
    Certificate {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The files of TLS cannot be used.
    #[error(transparent)]
    Files(#[from] CertificateError),
    /// A client of other replicas could not be made.
    #[error("cannot make a client for other replicas; this is a bug, report it")]
    Client {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A server that has a thread of its own got none, or its thread has ended.
    #[error("a server cannot run on a thread of its own; check the limit of threads and processes")]
    Thread {
        #[source]
        source: std::io::Error,
    },
}
