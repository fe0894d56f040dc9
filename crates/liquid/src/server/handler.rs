//! The interfaces to what changes something: commitments and quota.

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use berth_core::ProjectId;
use futures::future::BoxFuture;

/// Handles change-commitments, after the checks that all endpoints share.
///
/// The future is dropped when the client goes away.
pub trait ChangeHandler: Send + Sync + 'static {
    /// Answers the request. The response may have a [`AnsweredChange`] as an extension, for the metrics.
    fn change(&self, request: ChangeCall) -> BoxFuture<'_, Response>;
}

/// A request whose body has arrived.
#[derive(Clone, Debug)]
pub struct ChangeCall {
    pub body: Bytes,
    pub headers: HeaderMap,
    pub request_id: String,
}

/// Handles quota, after the checks that all endpoints share.
///
/// The future is dropped when the client goes away.
pub trait QuotaHandler: Send + Sync + 'static {
    fn set_quota(&self, request: QuotaCall) -> BoxFuture<'_, Response>;
}

/// A request whose body has arrived.
#[derive(Clone, Debug)]
pub struct QuotaCall {
    /// The one that the path names.
    pub project: ProjectId,
    pub body: Bytes,
    pub headers: HeaderMap,
    pub request_id: String,
}

/// What a response says, for the metrics. Without it the body was not decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsweredChange {
    pub is_dry_run: bool,
    /// The response has a reason.
    pub is_rejected: bool,
}
