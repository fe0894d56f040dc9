//! Answers to heads that the HTTP library refuses before any handler sees the request, instead of its own empty ones. It
//! decides two things: a Content-Length that is no number is put to the API itself, without its body, so that what is told,
//! and what is told first, is the same as always; everything else is told to pages of other sites as well, if they may know.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use berth_http::Refused;
use futures::FutureExt as _;
use tower::ServiceExt as _;

use super::content;
use super::cors::Cors;

/// Longer answers do not occur.
const MOST_BYTES: usize = 1 << 20;

/// What a server says in place of the library; give it to `berth_http::Server::with_refused`.
pub fn refused(api: Router, cors: Option<Cors>) -> Refused {
    std::sync::Arc::new(move |status, head: &[u8]| {
        let text = String::from_utf8_lossy(head);
        let (first, lines) = text.split_once("\r\n").unwrap_or((&text, ""));
        let headers = headers(lines);
        if status != StatusCode::BAD_REQUEST || content::check(&headers).is_ok() {
            return written(marked(status, &headers, cors.as_ref()?)?);
        }
        // Whoever has to wait to know the caller (Keystone) says nothing here: the library's own words stay.
        written(api.clone().oneshot(request(first, headers)?).now_or_never()?.ok()?)
    })
}

/// The headers of a head, lines that are none left out.
fn headers(lines: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.split("\r\n").take_while(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(':') else { continue };
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value.trim())) {
            headers.append(name, value);
        }
    }
    headers
}

/// A request without a body.
fn request(first: &str, headers: HeaderMap) -> Option<Request<Body>> {
    let mut words = first.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let mut request = Request::builder().method(method).uri(target).body(Body::empty()).ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// The library's answer for a page of another site, if that may use the API.
fn marked(status: StatusCode, headers: &HeaderMap, cors: &Cors) -> Option<Response<Body>> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    cors.mark(headers, &mut response);
    (!response.headers().is_empty()).then_some(response)
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
