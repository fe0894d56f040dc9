//! Rows of servers and flavors: made a snapshot.
#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

#[path = "../../crates/vm-source/tests/trials/vm_rows.rs"]
mod trial;

libfuzzer_sys::fuzz_target!(|rows: &[u8]| {
    trial::vms(rows);
});
