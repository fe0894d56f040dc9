//! Bodies of change-commitments: requests one after the other, to a zone with all of its controllers.
#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/liquid/tests/trials/bodies.rs"]
mod bodies;
#[path = "../../crates/liquid/tests/support/mod.rs"]
mod support;
#[path = "../../crates/liquid/tests/trials/liquid_body.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|input: &[u8]| drop(trial::change(input)));
