//! The answer to a request that is not executed, or has failed: a status and one line of text.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use berth_core::text::escape_line;
use berth_http::forwarder::NOT_DECIDED;
use berth_http::{LogReason, answer};

/// Characters of the text.
const MOST: usize = 1000;
pub(crate) const NOT_READY: &str = "caches not ready, please retry later";
const NO_LEADER: &str = "no replica leads at the moment; try again";
const LOST_LEADERSHIP: &str = "this replica has lost the leadership; try again";

/// An error for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    status: StatusCode,
    text: String,
    /// Seconds after which another try makes sense.
    retry_after: Option<u16>,
    /// This replica has not decided and does not lead, so another one may be asked.
    is_undecided: bool,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), retry_after: None, is_undecided: false }
    }

    /// 503 with the time after which another try makes sense.
    pub(crate) fn unavailable(text: impl Into<String>, retry_after: u16) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, text) }
    }

    /// This replica does not lead any more.
    pub(crate) fn lost_leadership() -> Self {
        Self { is_undecided: true, ..Self::unavailable(LOST_LEADERSHIP, 2) }
    }

    /// No replica leads.
    pub(crate) fn no_leader() -> Self {
        Self { is_undecided: true, ..Self::unavailable(NO_LEADER, 2) }
    }

    /// What every request depends on has not been read yet.
    pub(crate) fn not_ready() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, NOT_READY)
    }

    pub(crate) fn into_response(self) -> Response {
        let text = escape_line(&self.text, MOST);
        let mut response = answer::text(self.status, text.clone());
        response.extensions_mut().insert(LogReason::Text(text));
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.is_undecided {
            headers.insert(NOT_DECIDED, HeaderValue::from_static("1"));
        }
        response
    }
}
