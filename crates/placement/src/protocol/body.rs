//! Bodies of requests. It decides how large they may be, one by one and together, and how long a client may take to send one.

use axum::body::Body;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use futures::StreamExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::problem::Problem;
use crate::api::Api;

/// What is set aside before a body comes: a length is only a promise.
const SMALL: usize = 64 * 1024;

/// A body, and its share of the memory for bodies.
#[derive(Debug)]
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    _share: OwnedSemaphorePermit,
}

/// The whole body.
pub async fn read(api: &Api, headers: &HeaderMap, body: Body, until: Instant) -> Result<Content, Problem> {
    let most = api.bounds.body;
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(most);
    if length > most {
        return Err(too_large(most));
    }
    let share = api.share(length, until).await?;
    let bytes = timeout_at(until, collect(body, length, most)).await;
    let bytes = bytes.unwrap_or_else(|_| Err(Problem::invalid("the body of the request took too long")))?;
    Ok(Content { bytes, _share: share })
}

async fn collect(body: Body, length: usize, most: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::with_capacity(length.min(SMALL));
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Problem::invalid("the body of the request broke off"))?;
        if bytes.len() + chunk.len() > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn too_large(most: usize) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body may have {most} bytes"))
}
