//! Bodies of report-capacity.
#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/core/tests/trials/capacity_body.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    trial::report(body);
});
