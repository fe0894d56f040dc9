//! The body of a request.

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::ApiLimits;
use super::admission_limiter::AdmissionPermit;
use super::refusal::Refusal;

/// The maximum buffer that is allocated before bytes arrive.
const FIRST: usize = 1 << 20;

/// The announced length of the body.
pub(super) fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(super) async fn read(
    body: Body,
    declared: Option<usize>,
    pass: &mut AdmissionPermit<'_>,
    limits: &ApiLimits,
) -> Result<Bytes, Refusal> {
    timeout(limits.upload, collect(body, declared, pass, limits.body)).await.map_err(|_| Refusal::Slow)?
}

async fn collect(
    body: Body,
    declared: Option<usize>,
    pass: &mut AdmissionPermit<'_>,
    most: usize,
) -> Result<Bytes, Refusal> {
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
