//! The body of a request.

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::ApiLimits;
use super::admission_limiter::BodyShare;
use super::refusal::Refusal;

/// The maximum buffer that is allocated before bytes arrive. A larger body goes on only when there is memory for all of it.
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
    let mut whole = Vec::with_capacity(declared.unwrap_or(0).min(FIRST));
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| Refusal::Unreadable)?;
        if whole.len() + part.len() > most {
            return Err(Refusal::TooLarge);
        }
        let is_first_beyond = whole.len() <= FIRST && whole.len() + part.len() > FIRST;
        if is_first_beyond {
            // Otherwise large bodies could wait for each other, each with a part of the memory.
            share.wait_for(declared.unwrap_or(most).saturating_sub(whole.len())).await?;
        }
        share.hold(part.len()).await?;
        whole.extend_from_slice(&part);
    }
    Ok(whole.into())
}
