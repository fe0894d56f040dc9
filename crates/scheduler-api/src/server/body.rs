//! The body of a request. It decides when a body is too large or too slow, and holds no more of it than there is room
//! for; what is in it is read by `wire`.

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::ApiLimits;
use super::gate::Pass;
use super::refusal::Refusal;

/// So many bytes are prepared for at most before they are there.
const FIRST: usize = 1 << 20;

/// The bytes that the caller says it will send.
pub(super) fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The whole body.
pub(super) async fn read(
    body: Body,
    declared: Option<usize>,
    pass: &mut Pass<'_>,
    limits: &ApiLimits,
) -> Result<Bytes, Refusal> {
    timeout(limits.upload, collect(body, declared, pass, limits.body)).await.map_err(|_| Refusal::Slow)?
}

async fn collect(body: Body, declared: Option<usize>, pass: &mut Pass<'_>, most: usize) -> Result<Bytes, Refusal> {
    let mut parts = body.into_data_stream();
    let mut whole = Vec::with_capacity(declared.unwrap_or(0).min(FIRST));
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| Refusal::Unreadable)?;
        if whole.len() + part.len() > most {
            return Err(Refusal::TooLarge);
        }
        pass.hold(part.len()).await?;
        whole.extend_from_slice(&part);
    }
    Ok(whole.into())
}
