//! Bodies of the Placement API: requests one after the other, over a ledger in memory.
#![no_main]
#![allow(clippy::unwrap_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/placement/tests/api/in_memory.rs"]
mod in_memory;
#[path = "../../crates/placement/tests/trials/placement_body.rs"]
mod trial;
#[path = "../../crates/placement/tests/trials/placement_world.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|input: &[u8]| drop(trial::body(input)));
