//! Answers of Keystone and Limes: decoded, checked, made a view.
#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/limes-syncer/tests/trials/limes_body.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let _ = trial::read(body);
});
