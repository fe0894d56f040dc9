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

/// Reads a body. Its share grows as its bytes arrive, so that slow clients do not hold memory that they do not use; a large
/// one goes on only when there is memory for all of it.
pub async fn read(api: &Api, headers: &HeaderMap, body: Body, until: Instant) -> Result<Content, ApiError> {
    let most = api.bounds.body;
    let length = declared(headers).unwrap_or(most);
    if length > most {
        return Err(refuse_large_body(most));
    }
    let content = timeout_at(until, collect(api, body, length, until)).await;
    content.unwrap_or_else(|_| Err(ApiError::invalid("the body of the request took too long")))
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
    is_short && timeout_at(until, skip(body)).await.is_ok_and(|is_short| is_short)
}

fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn collect(api: &Api, body: Body, length: usize, until: Instant) -> Result<Content, ApiError> {
    let mut share = api.share(0, until).await?;
    let mut bytes = Vec::with_capacity(length.min(SMALL));
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::invalid("the body of the request broke off"))?;
        let arrived = bytes.len() + chunk.len();
        if arrived > api.bounds.body {
            return Err(refuse_large_body(api.bounds.body));
        }
        if bytes.len() <= SMALL && arrived > SMALL {
            // Otherwise large bodies could wait for each other, each with a part of the memory.
            drop(api.more(&share, length.max(arrived), until).await?);
        }
        let more = api.more(&share, arrived, until).await?;
        share.merge(more);
        bytes.extend_from_slice(&chunk);
    }
    Ok(Content { bytes, _share: share })
}

/// Reads a short body to its end; whether it is short.
async fn skip(body: Body) -> bool {
    let (mut read, mut chunks) = (0, body.into_data_stream());
    while let Some(chunk) = chunks.next().await {
        let Ok(chunk) = chunk else { return false };
        read += chunk.len();
        if read > SMALL {
            return false;
        }
    }
    true
}

fn refuse_large_body(most: usize) -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body may have {most} bytes"))
}
