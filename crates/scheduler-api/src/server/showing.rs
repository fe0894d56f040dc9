//! Authenticates clients if tokens are configured.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use berth_telemetry::config::Tokens;
use tokio::sync::watch;

/// The tokens that callers must show. They change while the process runs.
pub type TokensInForce = watch::Receiver<Tokens>;

/// The schemes by which a token can be shown, for `WWW-Authenticate`.
pub(super) const SCHEMES: &str = "Bearer, Basic realm=\"berth\"";

pub(super) fn shows(tokens: &TokensInForce, headers: &HeaderMap) -> bool {
    let Some((scheme, shown)) = credentials(headers) else { return false };
    if scheme.eq_ignore_ascii_case(b"Bearer") {
        tokens.borrow().have(shown)
    } else if scheme.eq_ignore_ascii_case(b"Basic") {
        password(shown).is_some_and(|password| tokens.borrow().have(&password))
    } else {
        false
    }
}

/// The scheme, which may be written in any case (RFC 9110 section 11.1), and what follows it.
fn credentials(headers: &HeaderMap) -> Option<(&[u8], &[u8])> {
    let text = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, shown) = text.split_at(text.iter().position(|byte| *byte == b' ')?);
    Some((scheme, &shown[1..]))
}

/// The password of HTTP Basic, with any user name. Nova's client can send no header, only what its URL holds.
fn password(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = BASE64_STANDARD.decode(encoded).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(decoded.split_off(colon + 1))
}
