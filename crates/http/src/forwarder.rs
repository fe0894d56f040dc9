//! How a request reaches the leader, as a server sees it. Whether it is forwarded is decided by its handler.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, Method};
use axum::response::Response;
use futures::future::BoxFuture;

/// On requests that another replica has forwarded: they are not forwarded again.
pub const FORWARDED: HeaderName = HeaderName::from_static("x-berth-forwarded");
/// Milliseconds that are left for the answer; only shortens the time that there is anyway.
pub const DEADLINE_MS: HeaderName = HeaderName::from_static("x-berth-deadline-ms");

/// On refusals of a replica that has not decided and does not lead, or does not lead yet: the request is sent again.
pub const NOT_DECIDED: HeaderName = HeaderName::from_static("x-berth-not-decided");

/// An extension of the responses of a [`Forwarder`] that tell only that there is no answer of a leader. The request may
/// be sent again if repeating it does no harm.
#[derive(Clone, Copy, Debug)]
pub struct Unanswered;

/// Sends requests to the leader.
pub trait Forwarder: Send + Sync + 'static {
    /// Sends the body with this method to this path of the leader at `leader`, for example `http://10.0.0.7:8080`, and returns its response, or
    /// 503 if there is none within `left`, with [`Unanswered`] if it makes sense to try again. Sets [`FORWARDED`] and
    /// [`DEADLINE_MS`]; it selects which of the client's `headers` are forwarded.
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        method: Method,
        path: &'a str,
        body: Bytes,
        headers: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response>;
}
