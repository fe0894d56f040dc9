//! Bodies of quota: requests one after the other, to a process with an empty API server.
#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/liquid/tests/trials/bodies.rs"]
mod bodies;
#[path = "../../crates/liquid/tests/quota/setting.rs"]
mod setting;
#[path = "../../crates/liquid/tests/trials/quota_body.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|input: &[u8]| drop(trial::set(input)));
