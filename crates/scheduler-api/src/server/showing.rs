//! Authenticates clients if a token is configured.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use berth_telemetry::config::Token;

use super::refusal::Refusal;

const SCHEME: &[u8] = b"Bearer ";

pub(super) fn check(token: Option<&Token>, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(token) = token else { return Ok(()) };
    if shows(token, headers) { Ok(()) } else { Err(Refusal::UnknownClient) }
}

pub(super) fn shows(token: &Token, headers: &HeaderMap) -> bool {
    shown(headers).is_some_and(|shown| token.is(shown))
}

/// The credentials after the scheme, which may be written in any case (RFC 9110 section 11.1).
fn shown(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, shown) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(shown)
}
