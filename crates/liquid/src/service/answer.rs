//! What a request is answered.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use berth_core::text::escape_line;
use berth_http::forwarder::NOT_DECIDED;
use berth_http::{LogReason, answer};
use jiff::Timestamp;
use serde::Serialize;

use super::texts;

/// Characters of an error.
const MOST: usize = 1000;

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Accepted,
    /// Limes keeps its old state, and shows the reason to its users.
    Rejected {
        reason: String,
        retry_at: Option<Timestamp>,
    },
    /// An error.
    Refused {
        status: StatusCode,
        text: String,
        /// Seconds after which another try makes sense.
        retry_after: Option<u16>,
        /// This replica has not decided and does not lead, so another one may be asked.
        is_undecided: bool,
    },
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
        Self::Refused { status, text: text.into(), retry_after: None, is_undecided: false }
    }

    /// 503 with the time after which another try makes sense.
    pub(super) fn unavailable(text: impl Into<String>, retry_after: u16) -> Self {
        let (status, text) = (StatusCode::SERVICE_UNAVAILABLE, text.into());
        Self::Refused { status, text, retry_after: Some(retry_after), is_undecided: false }
    }

    /// This replica does not lead.
    pub(super) fn not_leading(text: &str) -> Self {
        let (status, text) = (StatusCode::SERVICE_UNAVAILABLE, text.to_owned());
        Self::Refused { status, text, retry_after: Some(2), is_undecided: true }
    }

    /// What every request depends on has not been read yet.
    pub(super) fn not_ready() -> Self {
        Self::refused(StatusCode::SERVICE_UNAVAILABLE, texts::NOT_READY)
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
            Self::Refused { .. } => "error",
        }
    }

    pub(super) fn into_response(self) -> Response {
        match self {
            Self::Accepted => answer::json(StatusCode::OK, &Body::default()),
            Self::Rejected { reason, retry_at } => {
                answer::json(StatusCode::OK, &Body { rejection_reason: &reason, retry_at })
            }
            Self::Refused { status, text, retry_after, is_undecided } => {
                let text = escape_line(&text, MOST);
                let mut response = answer::text(status, text.clone());
                response.extensions_mut().insert(LogReason::Text(text));
                let headers = response.headers_mut();
                if let Some(seconds) = retry_after {
                    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
                }
                if is_undecided {
                    headers.insert(NOT_DECIDED, HeaderValue::from_static("1"));
                }
                response
            }
        }
    }
}
