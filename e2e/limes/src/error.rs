//! The errors of this crate: whatever Limes would not expect of a service.

/// Why the session ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("requests cannot be sent: {0}")]
    Client(#[source] reqwest::Error),
    #[error("{path}: no answer: {why}")]
    NoAnswer { path: String, why: String },
    #[error("{path} answers {status} (request {request_id}): {body}")]
    Status { path: String, status: u16, request_id: String, body: String },
    /// Limes decodes strictly, and would reject this answer.
    #[error("{path}: Limes cannot use the answer: {why}\n{body}")]
    Unusable { path: String, why: String, body: String },
    #[error("the service info breaks the rules of LIQUID:\n{}", .0.join("\n"))]
    Info(Vec<String>),
    #[error("the usage report breaks the rules of LIQUID:\n{}", .0.join("\n"))]
    Usage(Vec<String>),
    #[error("no resource with memory accepts commitments: set handlesCommitments of a flavor group")]
    NothingToSell,
    #[error("{step}: the service refuses: {reason}")]
    Refused { step: &'static str, reason: String },
    #[error("{step}: the service accepts more than any zone has")]
    NotRefused { step: &'static str },
    /// A request without confirmation cannot be rejected: Limes ignores the reason.
    #[error("{step}: the reason is not about capacity: {reason}")]
    OtherReason { step: &'static str, reason: String },
}
