//! The property of `placement_head`, for the fuzzer and for a test of `berth-placement`: whole requests with `GET
//! /path`, headers, an empty line and a body. The answer is never a 5xx.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, StatusCode};

use super::world::World;

/// Sends a request; returns the status, if the HTTP library accepts the request.
pub fn head(input: &[u8]) -> Option<StatusCode> {
    let world = World::new();
    request(&String::from_utf8_lossy(input)).map(|request| world.ask(request).status)
}

fn request(text: &str) -> Option<Request<Body>> {
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut lines = head.split('\n');
    let (method, target) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let (name, value) = (name.parse::<HeaderName>().ok()?, HeaderValue::from_str(value.trim()).ok()?);
        request = request.header(name, value);
    }
    request.body(Body::from(body.to_owned())).ok()
}
