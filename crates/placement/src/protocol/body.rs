//! Reads bodies of requests, with limits of size, of memory for all of them, and of time.

use axum::body::{Body, HttpBody as _};
use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::{HeaderMap, StatusCode};
use futures::StreamExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::api_error::ApiError;
use crate::api::Api;

/// The buffer that is allocated before a body arrives, because the announced length may be wrong.
const SMALL: usize = 64 * 1024;

/// A body, and its share of the memory for bodies.
#[derive(Debug)]
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    _share: OwnedSemaphorePermit,
}

pub async fn read(api: &Api, headers: &HeaderMap, body: Body, until: Instant) -> Result<Content, ApiError> {
    let most = api.bounds.body;
    let length = declared(headers).unwrap_or(most);
    if length > most {
        return Err(refuse_large_body(most));
    }
    let share = api.share(length, until).await?;
    let bytes = timeout_at(until, collect(body, length, most)).await;
    let bytes = bytes.unwrap_or_else(|_| Err(ApiError::invalid("the body of the request took too long")))?;
    Ok(Content { bytes, _share: share })
}

/// Whether the connection can have another request, given the body if it was not read. A short body is read now:
/// otherwise the connection would be closed, and the client's next request with it. If it must be closed, the response
/// announces it.
pub async fn is_over(api: &Api, headers: &HeaderMap, unread: Option<Body>, status: StatusCode) -> bool {
    let Some(body) = unread else { return status != StatusCode::PAYLOAD_TOO_LARGE };
    // A body under a deadline does not report that it is empty.
    let is_none = !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING);
    if is_none || body.is_end_stream() {
        return true;
    }
    let is_short = declared(headers).is_some_and(|length| length <= SMALL);
    let until = Instant::now() + api.bounds.grace;
    is_short && timeout_at(until, collect(body, 0, SMALL)).await.is_ok_and(|read| read.is_ok())
}

fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn collect(body: Body, length: usize, most: usize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::with_capacity(length.min(SMALL));
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::invalid("the body of the request broke off"))?;
        if bytes.len() + chunk.len() > most {
            return Err(refuse_large_body(most));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn refuse_large_body(most: usize) -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body may have {most} bytes"))
}
