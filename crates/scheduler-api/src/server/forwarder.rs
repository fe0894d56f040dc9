//! How a request reaches the leader, as the server sees it. Whether it is forwarded is decided in `handle`.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use futures::future::BoxFuture;

/// On requests that another replica has forwarded: they are not forwarded again.
pub const FORWARDED: HeaderName = HeaderName::from_static("x-berth-forwarded");
/// Milliseconds that are left for the answer; only shortens the time that there is anyway.
pub const DEADLINE_MS: HeaderName = HeaderName::from_static("x-berth-deadline-ms");

/// Sends requests to the leader.
pub trait Forwarder: Send + Sync + 'static {
    /// Forwards the request to the leader at `leader`, for example `http://10.0.0.7:8080`, and returns its response, or
    /// 503 if there is none within `left`. Sets [`FORWARDED`] and [`DEADLINE_MS`]; it selects which of the client's
    /// `headers` are forwarded.
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        body: Bytes,
        headers: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response>;
}
