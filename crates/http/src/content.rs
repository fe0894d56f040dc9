//! Reads the body of a request, and answers if it is too large or breaks off.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::answer;

/// The whole body of a request, within [`crate::Limits::body`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content(pub Bytes);

/// Why there is no body. As an answer: 413 or 400 with a line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoContent {
    TooLarge,
    /// The connection broke, or the client paused for too long.
    Unreadable,
}

impl<S: Send + Sync> FromRequest<S> for Content {
    type Rejection = NoContent;

    async fn from_request(request: Request, state: &S) -> Result<Self, NoContent> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| match rejection {
            BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => NoContent::TooLarge,
            _ => NoContent::Unreadable,
        })
    }
}

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        match self {
            Self::TooLarge => answer::text(StatusCode::PAYLOAD_TOO_LARGE, "request body too large"),
            Self::Unreadable => answer::text(StatusCode::BAD_REQUEST, "failed to read request body"),
        }
    }
}
