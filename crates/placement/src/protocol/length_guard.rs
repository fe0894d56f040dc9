//! Placement's own words for a Content-Length that is no number, which hyper answers with an empty 400 before any handler sees
//! the request. It decides only which heads these are: they are put to the API itself, without their body, so that what is
//! told, and what is told first, is the same as always.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use axum::http::{HeaderName, HeaderValue, Request, Response};
use berth_http::Refused;
use futures::FutureExt as _;
use tower::ServiceExt as _;

use super::content;

/// Longer answers do not occur.
const MOST_BYTES: usize = 1 << 20;

/// What a server says in place of hyper; give it to `berth_http::Server::with_refused`.
pub fn refused(api: Router) -> Refused {
    std::sync::Arc::new(move |head: &[u8]| {
        let request = request(head)?;
        content::check(request.headers()).err()?;
        // Whoever has to wait to know the caller (Keystone) says nothing here: hyper's own words stay.
        let response = api.clone().oneshot(request).now_or_never()?.ok()?;
        written(response)
    })
}

/// The head as a request without a body, lines that are no headers left out.
fn request(head: &[u8]) -> Option<Request<Body>> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?, first.next()?);
    let mut request = Request::builder().method(method).uri(target).body(Body::empty()).ok()?;
    for line in lines.take_while(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(':') else { continue };
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value.trim())) {
            request.headers_mut().append(name, value);
        }
    }
    Some(request)
}

/// The response, byte for byte; the connection ends with it.
fn written(response: Response<Body>) -> Option<Vec<u8>> {
    let (mut parts, body) = response.into_parts();
    let body = to_bytes(body, MOST_BYTES).now_or_never()?.ok()?;
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let mut out = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in &parts.headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&body);
    Some(out)
}
