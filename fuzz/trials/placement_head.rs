//! What is tried with whole requests, by the fuzzer and by a test of `berth-placement`: `GET /path`, headers, an empty line and
//! a body. The answer is never a 5xx; what is said about a head that the HTTP library refuses is one well-formed answer.

use std::sync::LazyLock;

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Request, StatusCode},
};
use berth_placement::protocol::refused::refused;
use tokio::runtime::{Builder, Runtime};

use super::world::{World, site};

/// The library asks from within one.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());

/// Tries a request; says how it was answered, if a library would take it.
pub fn head(input: &[u8]) -> Option<StatusCode> {
    let world = World::new();
    {
        let _inside = RUNTIME.enter();
        let refused = refused(world.router.clone(), site());
        for status in [StatusCode::BAD_REQUEST, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE] {
            if let Some(answer) = refused(status, input) {
                is_one_answer(&String::from_utf8_lossy(&answer));
            }
        }
    }
    request(&String::from_utf8_lossy(input)).map(|request| world.ask(request).status)
}

fn is_one_answer(text: &str) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?} has no end"));
    assert!(head.starts_with("HTTP/1.1 4"), "{text:?}");
    assert!(head.split("\r\n").all(|line| !line.contains(['\r', '\n'])), "{text:?}");
    let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    // What is no UTF-8 was replaced by something longer.
    assert!(
        length.and_then(|length| length.parse().ok()).is_some_and(|length: usize| length <= body.len()),
        "{text:?}"
    );
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
