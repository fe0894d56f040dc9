//! What the routes need of the service that changes commitments.

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::future::BoxFuture;

/// A request to change commitments whose caller may make it, with its whole body.
#[derive(Clone, Debug)]
pub struct ChangeCall {
    pub body: Bytes,
    pub headers: HeaderMap,
    /// The id that the request has in logs and answers.
    pub request_id: String,
}

/// Changes commitments. Dropping the future means that the caller has gone away.
pub trait ChangeHandler: Send + Sync + 'static {
    fn change(&self, request: ChangeCall) -> BoxFuture<'_, Response>;
}
