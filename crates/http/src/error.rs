//! The one error type of this crate: why a server is not there. What is wrong with a request is an answer, no error.

/// What keeps a server from serving.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// A flag does not hold an address.
    #[error(
        "{found:?} is not an address; write \":8080\" for all interfaces, \"127.0.0.1:8080\" for one, or 0 for none"
    )]
    Address {
        /// The text that was found.
        found: String,
    },
    /// The address is taken, not ours, or not allowed.
    #[error("cannot listen on {address}; check that no other process does and that the port is allowed")]
    Bind {
        /// The address that was asked for.
        address: String,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The operating system gave no more connections for a while.
    #[error("cannot accept connections any more; check the limit of open files")]
    Accept {
        /// What the operating system said last.
        #[source]
        source: std::io::Error,
    },
}
