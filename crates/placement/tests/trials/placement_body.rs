//! The property of `placement_body`, for the fuzzer and for a test of `berth-placement`: requests of an admin, one
//! after the other, to a small cloud. Each is `1.28 PUT /path`, with its body below; a line `---` separates two
//! requests. The answer is never a 5xx, a refused request changes nothing, and a successful one keeps the invariants of
//! a ledger.

use axum::body::Body;
use axum::http::{Request, StatusCode};

use super::world::World;

const MOST: usize = 6;

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
