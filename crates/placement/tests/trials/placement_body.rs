//! What is tried with bodies, by the fuzzer and by a test of `berth-placement`: requests of an admin, one after the other, to
//! a small cloud. Each is `1.28 PUT /path`, and below it the body; a line `---` is between two. Whatever they say, the answer
//! is never a 5xx, what is refused changes nothing, and what is done keeps the laws of a ledger.

use axum::body::Body;
use axum::http::{Request, StatusCode};

use super::world::World;

/// More add nothing.
const MOST: usize = 6;

/// Tries requests; says how each was answered.
pub fn body(input: &[u8]) -> Vec<StatusCode> {
    let text = String::from_utf8_lossy(input);
    let world = World::new();
    let requests = text.split("\n---\n").take(MOST).filter_map(request);
    requests.map(|request| world.ask(request).status).collect()
}

fn request(text: &str) -> Option<Request<Body>> {
    let (line, body) = text.split_once('\n').unwrap_or((text, ""));
    let mut words = line.splitn(3, ' ');
    let (version, method, target) = (words.next()?, words.next()?, words.next()?);
    let request = Request::builder().method(method).uri(target);
    let request = request.header("openstack-api-version", format!("placement {version}")).header("host", "a");
    let request = request.header("x-auth-token", "admin").header("content-type", "application/json");
    request.header("content-length", body.len()).body(Body::from(body.to_owned())).ok()
}
