//! Errors in a body, with texts that help the client find them: the member, the expected and the found value. The texts
//! begin as those of the reference.

use berth_core::text::escape_line;
use thiserror::Error;

/// Characters of a host's name that are shown.
const SHOWN_HOST: usize = 120;

/// Why a body is no request: the text of an answer with 400.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// No JSON, a wrong type, or something after the object.
    #[error("failed to decode request body: {0}")]
    Body(String),
    /// A host of the request has no weight.
    #[error("missing weight for host: {}", escape_line(.0, SHOWN_HOST))]
    NoWeight(String),
    /// There is a weight for a host that is not in the request.
    #[error("weight assigned to unknown host: {}", escape_line(.0, SHOWN_HOST))]
    NoHost(String),
}
