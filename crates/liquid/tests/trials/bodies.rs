//! The requests of an input of the fuzzer: their bodies, one after the other; a line `---` separates two.

use axum::body::Bytes;

/// The most bodies of an input.
const MOST: usize = 3;
const SEPARATOR: &[u8] = b"\n---\n";

pub fn split_bodies(input: &[u8]) -> Vec<Bytes> {
    let (mut bodies, mut rest) = (Vec::new(), input);
    while let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        bodies.push(Bytes::copy_from_slice(&rest[..at]));
        rest = &rest[at + SEPARATOR.len()..];
    }
    bodies.push(Bytes::copy_from_slice(rest));
    bodies.truncate(MOST);
    bodies
}
