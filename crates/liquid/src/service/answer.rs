//! What a request is answered.

use axum::http::StatusCode;
use axum::response::Response;
use berth_http::answer;
use jiff::Timestamp;
use serde::Serialize;

use super::texts;
use crate::refused::Refused;

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Accepted,
    /// Limes keeps its old state, and shows the reason to its users.
    Rejected {
        reason: String,
        retry_at: Option<Timestamp>,
    },
    Refused(Refused),
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    rejection_reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<Timestamp>,
}

impl Answer {
    pub(super) fn refused(status: StatusCode, text: impl Into<String>) -> Self {
        Refused::new(status, text).into()
    }

    /// 503 with the time after which another try makes sense.
    pub(super) fn unavailable(text: impl Into<String>, retry_after: u16) -> Self {
        Refused::unavailable(text, retry_after).into()
    }

    /// The detail is in the log.
    pub(super) fn internal(id: &str) -> Self {
        Self::refused(StatusCode::INTERNAL_SERVER_ERROR, texts::internal_error(id))
    }

    /// The value of the label `result`.
    pub(super) fn result(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected { .. } => "rejected",
            Self::Refused(_) => "error",
        }
    }

    pub(super) fn into_response(self) -> Response {
        match self {
            Self::Accepted => answer::json(StatusCode::OK, &Body::default()),
            Self::Rejected { reason, retry_at } => {
                answer::json(StatusCode::OK, &Body { rejection_reason: &reason, retry_at })
            }
            Self::Refused(refused) => refused.into_response(),
        }
    }
}
