//! The body of a request.

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::ApiLimits;
use super::admission_limiter::BodyShare;
use super::refusal::Refusal;

/// A larger body is read only when there is memory for all of it, and few are at the same time: otherwise each of them could
/// wait for the others with a part of the memory, and small bodies of well-behaved clients would wait for all of them.
const FIRST: usize = 1 << 20;

/// The announced length of the body.
pub(super) fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(super) async fn read(
    body: Body,
    declared: Option<usize>,
    share: &mut BodyShare<'_>,
    limits: &ApiLimits,
) -> Result<Bytes, Refusal> {
    timeout(limits.upload, collect(body, declared, share, limits.body)).await.map_err(|_| Refusal::Slow)?
}

async fn collect(
    body: Body,
    declared: Option<usize>,
    share: &mut BodyShare<'_>,
    most: usize,
) -> Result<Bytes, Refusal> {
    let mut parts = body.into_data_stream();
    let mut whole = Vec::new();
    if let Some(bytes) = declared {
        if bytes > FIRST {
            share.admit_large(bytes).await?;
        }
        whole.reserve_exact(bytes);
    }
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| Refusal::Unreadable)?;
        if whole.len() + part.len() > most {
            return Err(Refusal::TooLarge);
        }
        if whole.len() + part.len() > FIRST && !share.is_large() {
            share.admit_large(most - whole.len()).await?;
        }
        share.hold(part.len()).await?;
        whole.extend_from_slice(&part);
    }
    Ok(whole.into())
}
