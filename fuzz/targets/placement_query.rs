//! Queries of allocation candidates and of providers: parsed, run on a small cloud, answered.
#![no_main]
#![allow(clippy::unwrap_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/placement/tests/api/in_memory.rs"]
mod in_memory;
#[path = "../../crates/placement/tests/trials/placement_query.rs"]
mod trial;
#[path = "../../crates/placement/tests/trials/placement_world.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = trial::query(input);
});
