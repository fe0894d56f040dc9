//! Answers of Keystone to the check of a token.
#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/openstack/tests/trials/token_answer.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    trial::token(input);
});
